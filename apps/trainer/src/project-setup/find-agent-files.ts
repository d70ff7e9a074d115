import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { KnownAdapter } from './adapters.ts';

const skippedFolders: ReadonlySet<string> = new Set(['node_modules', 'dist', 'build', 'coverage', 'out', '.next']);
const sourceFile = /\.[cm]?[jt]sx?$/;
const notAnAgent = /\.(?:test|spec|d|config)\.[cm]?[jt]sx?$/;

/** The source files of a project that import a framework, as paths in its folder, sorted. */
export function findAgentFiles(folder: string, { imports }: KnownAdapter): readonly string[] {
  return sourceFiles(folder)
    .filter((file) => importedModules(readFileSync(file, 'utf8')).some((name) => imports.test(name)))
    .map((file) => path.relative(folder, file).split(path.sep).join('/'))
    .sort();
}

function sourceFiles(folder: string): readonly string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const file = path.join(folder, entry.name);
    if (entry.isDirectory())
      return skippedFolders.has(entry.name) || entry.name.startsWith('.') ? [] : sourceFiles(file);
    return entry.isFile() && sourceFile.test(entry.name) && !notAnAgent.test(entry.name) ? [file] : [];
  });
}

/** The modules that a source imports or requires. */
export function importedModules(source: string): readonly string[] {
  const specifiers = source.matchAll(/(?:^\s*import\s+|\bfrom\s+|\brequire\(\s*|\bimport\(\s*)(['"])([^'"\n]+)\1/gm);
  return [...specifiers].map((match) => match[2] ?? '');
}
