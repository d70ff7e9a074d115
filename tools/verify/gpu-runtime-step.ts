import { join } from 'node:path';
import { installExtra } from '../extras/extras.ts';
import { preparePython, pythonEnvironments } from '../python-environment.ts';
import { repositoryRoot } from '../repository-files.ts';
import { runCommand } from './run-command.ts';
import type { Step, StepContext, StepResult } from './step.ts';

const folder = join(repositoryRoot, 'apps/gpu-runtime');

/** Limit for each check, in milliseconds: the tests take five minutes on an idle machine. */
const timeoutMs = 60 * 60_000;

/** Checks of the Python package, the cheapest first. `python` is replaced by the interpreter of the virtual environment. */
const checks: readonly (readonly string[])[] = [
  ['python', 'scripts/generate_protocol.py', '--check'],
  ['python', '-m', 'ruff', 'check', '--quiet', '.'],
  ['python', '-m', 'ruff', 'format', '--quiet', '--check', '.'],
  ['pyright', '--pythonpath', 'python'],
  ['python', '-m', 'pytest', '-p', 'no:cacheprovider'],
];

/** Lints, types and tests the Python package. Each check counts, and each test. */
export const gpuRuntimeStep: Step = {
  name: 'gpu-runtime',
  description: 'the Python runtime: ruff, pyright, pytest',
  after: ['python'],
  run: checkGpuRuntime,
};

async function checkGpuRuntime({ scope, flash }: StepContext): Promise<StepResult> {
  const environment = await preparePython(pythonEnvironments['agentlightning-runtime']);
  if ('missing' in environment)
    return { passed: 0, failed: process.env.CI === undefined ? 0 : 1, remark: 'not run', output: environment.missing };
  await installExtra('pyright');
  const counts = { passed: 0, failed: 0 };
  const failures: string[] = [];
  for (const check of checks) {
    flash(check.join(' '));
    const selection = scope === 'short' && check.includes('pytest') ? ['-m', 'not long'] : [];
    const command = [...check.map((part) => (part === 'python' ? environment.python : part)), ...selection];
    const { isOk, output } = await runCommand(command, { cwd: folder, env: pythonSettings, timeoutMs, onLine: flash });
    const tests = check.includes('pytest') ? countTests(output) : { passed: 1, failed: 1 };
    counts.passed += isOk || check.includes('pytest') ? tests.passed : 0;
    counts.failed += isOk ? 0 : Math.max(1, tests.failed);
    if (!isOk) failures.push(`$ ${check.join(' ')}\n${output}`);
  }
  return { ...counts, remark: `${counts.passed} passed`, output: failures.join('\n\n') };
}

/** One thread: tests are small, and several threads on few cores wait for each other. */
const pythonSettings: Readonly<Record<string, string>> = {
  PYTHONPATH: join(folder, 'src'),
  PYTHONDONTWRITEBYTECODE: '1',
  OMP_NUM_THREADS: '1',
  TOKENIZERS_PARALLELISM: 'false',
  HF_HUB_OFFLINE: '1',
};

/** Reads pytest's last line: `3 failed, 120 passed, 1 error in 12.30s`. */
function countTests(output: string): { readonly passed: number; readonly failed: number } {
  const numberOf = (word: string): number => Number(new RegExp(`(\\d+) ${word}`).exec(output)?.[1] ?? 0);
  return { passed: numberOf('passed'), failed: numberOf('failed') + numberOf('error') };
}
