import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';

/** The root folder of the repository. */
export const repositoryRoot: string = join(import.meta.dirname, '..');

/** Folders that hold what tools made, not what people wrote. */
const skippedFolders = new Set([
  'node_modules',
  'dist',
  'gen',
  'coverage',
  '.git',
  '.turbo',
  '.agl',
  '.spike',
  '.stryker-tmp',
  '.venv',
  '.readme-snippets',
  '.astro',
]);

/** Pages of the documentation site, which are copies of the documents. */
const copiedDocuments = join(repositoryRoot, 'apps/docs/src/content');

/**
 * Every written file of the repository, as paths from its root with forward slashes, sorted.
 *
 * Walks the folders itself instead of asking git, so that it also works in an unpacked archive.
 *
 * @example
 * ```ts
 * const documents = listFiles((path) => path.endsWith('.md'));
 * ```
 */
export function listFiles(wanted: (path: string) => boolean): readonly string[] {
  return walk(repositoryRoot)
    .map((file) => relative(repositoryRoot, file).split(sep).join('/'))
    .filter(wanted)
    .sort();
}

/** The text of a file of the repository. */
export function readText(path: string): string {
  return readFileSync(join(repositoryRoot, path), 'utf8');
}

/** The folders of the workspace that hold a package.json, such as `packages/core`. */
export function listPackageFolders(): readonly string[] {
  return listFiles((path) => /^(packages|apps)\/[^/]+\/package\.json$/.test(path)).map((path) =>
    path.slice(0, -'/package.json'.length),
  );
}

function walk(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return skippedFolders.has(entry.name) || path === copiedDocuments ? [] : walk(path);
    return entry.isFile() ? [path] : [];
  });
}
