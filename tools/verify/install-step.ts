import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readText, repositoryRoot } from '../repository-files.ts';
import { runCommand } from './run-command.ts';
import { resultOf, type Step, type StepContext, type StepResult } from './step.ts';

/** The version of Node that the repository itself runs on. */
const requiredNodeMajor = 24;

/** Checks that the installed packages match the lock file, and that the lock file is portable. */
export const installStep: Step = {
  name: 'install',
  description: 'Node version and lock file',
  isExclusive: true,
  run: checkInstall,
};

async function checkInstall({ flash }: StepContext): Promise<StepResult> {
  const problems: string[] = [];
  const major = Number(process.versions.node.split('.')[0]);
  if (major < requiredNodeMajor) {
    problems.push(
      `Node ${process.versions.node} runs this; start it with pnpm, which brings Node ${requiredNodeMajor}.`,
    );
  }
  if (!existsSync(join(repositoryRoot, 'node_modules'))) problems.push('node_modules is missing: run `pnpm install`.');
  if (/https?:\/\/|\btarball:/.test(readText('pnpm-lock.yaml'))) {
    problems.push('pnpm-lock.yaml names the address of a registry; it must work with any mirror.');
  }
  const { isOk, output } = await runCommand(['pnpm', 'install', '--frozen-lockfile'], { onLine: flash });
  if (!isOk) problems.push(output);
  return resultOf(problems, `Node ${process.versions.node}`);
}
