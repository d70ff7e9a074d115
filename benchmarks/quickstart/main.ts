/**
 * `pnpm bench quickstart --seeds 10`: trains the quick start's agent with several seeds, one after the
 * other, and reports how often, how far and how fast it learned. `--example langgraph-mail-room` does so with
 * another of the examples, and `--log <file>` appends the outcome of each seed to a file.
 *
 * @module
 */
import { spawnSync } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import path from 'node:path';
import type { TrainingEvent } from '@agentlightning/core/protocol';
import { cpuSecondsOfChildren } from '../child-process.ts';
import { parseFlags } from '../flags.ts';
import { report, result } from '../report.ts';
import { median } from '../statistics.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const root = path.resolve(import.meta.dirname, '../..');
const flags = parseFlags({ seeds: 10, first: 1, example: 'stock-clerk', log: null });

interface Outcome {
  readonly seed: number;
  /** Held-out rollouts of each evaluation. */
  readonly rollouts: number;
  readonly before: number;
  readonly after: number;
  /** Duration of the steps, without the evaluations and the start. */
  readonly trainingSeconds: number;
  /** Duration of the run. */
  readonly seconds: number;
  /** Processor time of all processes of the run. */
  readonly cpuSeconds: number;
}

/** The success criterion of the quick start: a gain of at least 0.4, to at least 0.7. */
function hasLearned(before: number, after: number): boolean {
  return after - before >= 0.4 && after >= 0.7;
}

function trainOnce(seed: number): Outcome {
  using dataDir = temporaryFolder();
  const agl = path.join(root, 'apps/trainer/dist/cli/main.js');
  const config = path.join(root, 'examples', flags.example, 'agl.config.ts');
  const args = [agl, 'train', config, '--json', '--seed', String(seed), '--data-dir', dataDir.path];
  const cpuBefore = cpuSecondsOfChildren();
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', maxBuffer: 2 ** 28 });
  const events = stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as TrainingEvent);
  const done = events.at(-1);
  if (done?.type !== 'finished') {
    process.stderr.write(stderr);
    throw new Error(`The training with seed ${seed} failed. Its errors are above.`);
  }
  return {
    seed,
    rollouts: done.summary.after.rollouts,
    before: done.summary.before.reward,
    after: done.summary.after.reward,
    trainingSeconds: events.reduce((sum, event) => sum + (event.type === 'stepped' ? event.summary.seconds : 0), 0),
    seconds: done.summary.seconds,
    cpuSeconds: cpuSecondsOfChildren() - cpuBefore,
  };
}

const outcomes = Array.from({ length: flags.seeds }, (_, index) => {
  const outcome = trainOnce(flags.first + index);
  const { seed, before, after, seconds } = outcome;
  console.log(`seed ${seed}: ${before.toFixed(3)} -> ${after.toFixed(3)} in ${seconds.toFixed(1)} s`);
  if (flags.log !== null) appendFileSync(flags.log, `${JSON.stringify(outcome)}\n`);
  return outcome;
});
const learned = outcomes.filter(({ before, after }) => hasLearned(before, after)).length;
report('quickstart', [
  result('seeds that learned', { value: learned / outcomes.length, unit: 'share' }, { atLeast: 0.9 }),
  result('reward before, median', { value: median(outcomes.map(({ before }) => before)), unit: 'reward' }, null),
  result(
    'reward after, median',
    { value: median(outcomes.map(({ after }) => after)), unit: 'reward' },
    { atLeast: 0.8 },
  ),
  result('reward after, lowest', { value: Math.min(...outcomes.map(({ after }) => after)), unit: 'reward' }, null),
  result(
    'training time, median',
    { value: median(outcomes.map(({ trainingSeconds }) => trainingSeconds)), unit: 's' },
    { atMost: 60 },
  ),
  result('processor time, median', { value: median(outcomes.map(({ cpuSeconds }) => cpuSeconds)), unit: 's' }, null),
]);
