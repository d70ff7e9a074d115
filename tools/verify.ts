/**
 * `pnpm verify`: everything that must hold before a change goes in. Continuous integration runs the same.
 *
 * `pnpm verify` runs all steps without the tests tagged `long`, `pnpm verify --all` runs everything, `pnpm verify lint types`
 * runs two steps, `pnpm verify --list` names them.
 * The last line is `N passed, N failed`; the exit code is 1 when anything failed.
 *
 * @module
 */
import { availableParallelism } from 'node:os';
import { chaosStep } from './verify/chaos-step.ts';
import { commandStep } from './verify/command-step.ts';
import { commitStep } from './verify/commit-step.ts';
import { conventionStep } from './verify/convention-step.ts';
import { generatedCodeStep } from './verify/generated-code-step.ts';
import { gpuRuntimeStep } from './verify/gpu-runtime-step.ts';
import { installStep } from './verify/install-step.ts';
import { matrixStep } from './verify/matrix-step.ts';
import { nodeVersionsStep } from './verify/node-versions-step.ts';
import { packageStep } from './verify/package-step.ts';
import { type FinishedStep, StepProgress, showFailures } from './verify/progress.ts';
import { pythonStep } from './verify/python-step.ts';
import { recipeStep } from './verify/recipe-step.ts';
import { releaseStep } from './verify/release-step.ts';
import { runSteps } from './verify/run-steps.ts';
import { sizeStep } from './verify/size-step.ts';
import { snippetStep } from './verify/snippet-step.ts';
import type { Step, VerifyScope } from './verify/step.ts';
import { testStep } from './verify/test-step.ts';
import { workflowStep } from './verify/workflow-step.ts';

/** Maximum number of concurrent steps. */
const maxConcurrency = 2;

/**
 * Cheap checks come first, so that a slip shows within seconds. The installation of Python packages, which mostly waits for
 * the network, runs beside them.
 */
const steps: readonly Step[] = [
  installStep,
  generatedCodeStep,
  pythonStep,
  commandStep({
    name: 'lint',
    description: 'format and lint (Biome)',
    command: ['biome', 'check', '--error-on-warnings', '--diagnostic-level=warn', '--max-diagnostics=100', '.'],
    remark: /Checked (\d+ files)/,
  }),
  commandStep({
    name: 'types',
    description: 'types (tsc, strict)',
    command: ['pnpm', 'run', 'typecheck'],
  }),
  commandStep({
    name: 'dependencies',
    description: 'dependency rules (dependency-cruiser)',
    command: ['depcruise', 'packages', 'apps', 'examples', 'tools', '--config', '.dependency-cruiser.cjs'],
    remark: /\d+ modules/,
  }),
  commandStep({
    name: 'floors',
    description: 'no cycles between folders (dependency-cruiser)',
    command: ['depcruise', 'packages', 'apps', '--config', '.dependency-cruiser.folders.cjs'],
    remark: /\d+ modules/,
  }),
  commandStep({
    name: 'unused',
    description: 'unused files, exports, dependencies (knip)',
    command: ['knip', '--no-progress', '--no-config-hints'],
  }),
  commandStep({ name: 'manifests', description: 'package.json files agree (sherif)', command: ['sherif'] }),
  conventionStep,
  workflowStep,
  commitStep,
  commandStep({
    name: 'build',
    description: 'all packages build (turbo)',
    command: ['turbo', 'run', 'build', '--output-logs=errors-only', '--log-order=grouped'],
    remark: /(\d+ successful)/,
  }),
  gpuRuntimeStep,
  commandStep({
    name: 'api',
    description: 'public surface matches docs/api (API Extractor)',
    after: ['build'],
    command: ['node', 'tools/api-reports.ts', '--check'],
  }),
  commandStep({
    name: 'docs',
    description: 'the documentation site builds, its links are valid (Starlight)',
    command: ['pnpm', '--filter', '@agentlightning/docs', 'run', 'site'],
    remark: /(\d+ page)/,
  }),
  packageStep,
  sizeStep,
  matrixStep,
  nodeVersionsStep,
  recipeStep,
  releaseStep,
  snippetStep,
  testStep,
  chaosStep,
];

async function main(args: readonly string[]): Promise<number> {
  if (args.includes('--list')) {
    for (const { name, description } of steps) console.log(`${name.padEnd(10)} ${description}`);
    return 0;
  }
  const scope = args.includes('--all') ? 'all' : 'short';
  const names = args.filter((arg) => arg !== '--all');
  const unknown = names.filter((arg) => !steps.some(({ name }) => name === arg));
  if (unknown.length > 0) {
    console.error(`Unknown step: ${unknown.join(', ')}. Use one of ${steps.map(({ name }) => name).join(', ')}.`);
    return 2;
  }
  const chosen = steps.filter(({ name, isLong = false }) =>
    names.length === 0 ? scope === 'all' || !isLong : names.includes(name),
  );
  console.log(
    `verify: ${chosen.length} steps, ${scope} scope, Node ${process.versions.node}, ${availableParallelism()} cores\n`,
  );
  const startedAt = performance.now();
  const finished = await runAll(chosen, scope);
  const seconds = (performance.now() - startedAt) / 1000;

  showFailures(finished, process.stdout);
  const sum = (count: (step: FinishedStep) => number): number =>
    finished.reduce((total, step) => total + count(step), 0);
  const failed = sum(({ result }) => result.failed);
  console.log(`\nTook ${seconds.toFixed(0)} s.`);
  console.log(`${sum(({ result }) => result.passed)} passed, ${failed} failed`);
  return failed === 0 ? 0 : 1;
}

async function runAll(chosen: readonly Step[], scope: VerifyScope): Promise<readonly FinishedStep[]> {
  using progress = new StepProgress(process.stdout);
  const concurrency = Math.min(availableParallelism(), maxConcurrency);
  return await runSteps(chosen, { concurrency, run: (step) => progress.run(step, scope) });
}

process.exitCode = await main(process.argv.slice(2).filter((arg) => arg !== '--'));
