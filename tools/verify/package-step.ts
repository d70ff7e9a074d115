import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { listPackageFolders, repositoryRoot } from '../repository-files.ts';
import { runCommand } from './run-command.ts';
import type { Step, StepContext, StepResult } from './step.ts';

/**
 * Packs every package that will be published and checks the archive, not the folder: what a user installs
 * must have the files its `exports` name (publint) and types that every resolver finds (Are The Types Wrong).
 */
export const packageStep: Step = {
  name: 'packages',
  description: 'packed: publint, are-the-types-wrong',
  after: ['build'],
  run: checkPackages,
};

async function checkPackages({ flash }: StepContext): Promise<StepResult> {
  const folder = await mkdtemp(join(tmpdir(), 'agentlightning-verify-'));
  const failures: string[] = [];
  let passed = 0;
  try {
    for (const packageFolder of await publishedPackages()) {
      flash(packageFolder);
      const problem = await checkPackage(packageFolder, folder);
      if (problem === undefined) passed += 1;
      else failures.push(`${packageFolder}\n${problem}`);
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return { passed, failed: failures.length, remark: `${passed} packages`, output: failures.join('\n\n') };
}

async function publishedPackages(): Promise<readonly string[]> {
  const folders: string[] = [];
  for (const folder of listPackageFolders()) {
    const manifest = await readFile(join(repositoryRoot, folder, 'package.json'), 'utf8');
    const { private: isPrivate } = JSON.parse(manifest) as { readonly private?: boolean };
    if (isPrivate !== true) folders.push(folder);
  }
  return folders;
}

/** What is wrong with one packed package; undefined when nothing is. */
async function checkPackage(packageFolder: string, target: string): Promise<string | undefined> {
  const cwd = join(repositoryRoot, packageFolder);
  const archive = join(target, `${packageFolder.replaceAll('/', '-')}.tgz`);
  const packed = await runCommand(['pnpm', 'pack', '--out', archive], { cwd });
  if (!packed.isOk) return packed.output;
  const shape = await runCommand(['publint', 'run', archive, '--strict']);
  // Ours are ES modules only: the profile leaves out what Node 10 and CommonJS-only type resolution would see.
  const types = await runCommand(['attw', archive, '--profile', 'esm-only', '--format', 'ascii', '--no-emoji']);
  const problems = [shape, types].filter(({ isOk }) => !isOk).map(({ output }) => output);
  return problems.length === 0 ? undefined : problems.join('\n');
}
