import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { repositoryRoot } from '../repository-files.ts';
import { runCommand } from '../verify/run-command.ts';

/**
 * Packs a package as for publishing.
 *
 * @param folder - of the package, from the root of the repository
 * @returns the path of the archive
 * @throws Error when pnpm cannot pack it
 */
export async function packPackage(folder: string, target: string): Promise<string> {
  const archive = join(target, `${folder.replaceAll('/', '-')}.tgz`);
  const { isOk, output } = await runCommand(['pnpm', 'pack', '--out', archive], { cwd: join(repositoryRoot, folder) });
  if (!isOk) throw new Error(`Packing failed: ${folder}. Build the package first.\n${output}`);
  return archive;
}

/**
 * The problems of an archive: files that are missing or do not belong into it, files that `exports` names and it lacks
 * (publint), and types that a resolver does not find (Are The Types Wrong).
 */
export async function archiveProblems(archive: string): Promise<readonly string[]> {
  const shape = await runCommand(['publint', 'run', archive, '--strict']);
  // The packages are ES modules only: the profile leaves out the type resolution of Node 10 and of CommonJS.
  const types = await runCommand(['attw', archive, '--profile', 'esm-only', '--format', 'ascii', '--no-emoji']);
  const failed = [shape, types].filter(({ isOk }) => !isOk).map(({ output }) => output);
  return [...(await contentProblems(archive)), ...failed];
}

const requiredFiles = ['README.md', 'LICENSE', 'package.json'] as const;

/** Sources and tests are not published; source maps contain the sources that they need. Compiled kernels are beside theirs. */
const unwantedFile =
  /(?:^|\/)(?:test|tests|src|fixtures|node_modules)\/|\.test\.|\.tsbuildinfo$|\.map\.map$|(?:^|\/)\.(?!npmignore)/;

async function contentProblems(archive: string): Promise<readonly string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'agentlightning-archive-'));
  try {
    const { isOk, output } = await runCommand(['tar', '-xvzf', archive, '-C', folder]);
    if (!isOk) return [`tar cannot read ${archive}:\n${output}`];
    const files = output
      .split('\n')
      .map((line) => line.trim().replace(/^x /, ''))
      .filter((line) => line.startsWith('package/') && !line.endsWith('/'))
      .map((line) => line.slice('package/'.length));
    const missing = requiredFiles.filter((name) => !files.includes(name));
    const manifest = await readFile(join(folder, 'package/package.json'), 'utf8');
    return [
      ...missing.map((name) => `${name} is missing. Add it to the package, or to \`files\`.`),
      ...files
        .filter((file) => unwantedFile.test(file) && !file.endsWith('.wasm'))
        .map((file) => `${file} must not be published.`),
      ...(manifest.includes('"workspace:') ? ['package.json has a workspace: range. Pack with pnpm.'] : []),
      ...(await sourceMapProblems(join(folder, 'package'), files)),
    ];
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Every module has a source map that contains its sources, which are not published. */
async function sourceMapProblems(folder: string, files: readonly string[]): Promise<readonly string[]> {
  const problems: string[] = [];
  for (const file of files.filter((name) => /^dist\/.*\.js$/.test(name))) {
    const text = await readFile(join(folder, file), 'utf8');
    // Bundles of the web page are loaded by browsers only.
    if (file.startsWith('dist/web/')) continue;
    if (!text.includes('sourceMappingURL=')) continue;
    if (!files.includes(`${file}.map`)) problems.push(`${file}.map is missing.`);
    else if (!(await readFile(join(folder, `${file}.map`), 'utf8')).includes('"sourcesContent":['))
      problems.push(`${file}.map has no sources.`);
  }
  return problems;
}
