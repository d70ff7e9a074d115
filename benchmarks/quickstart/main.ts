/**
 * `pnpm bench quickstart --seeds 10`: trains the quick start's agent with several seeds, one after the
 * other, and reports how often, how far and how fast it learned. `--example langgraph-mail-room` does so with
 * another of the examples.
 *
 * @module
 */
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { parseFlags } from '../flags.ts';
import { report, result } from '../report.ts';
import { median } from '../statistics.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const root = path.resolve(import.meta.dirname, '../..');
const flags = parseFlags({ seeds: 10, first: 1, example: 'stock-clerk' });

interface Outcome {
  readonly seed: number;
  readonly before: number;
  readonly after: number;
  readonly seconds: number;
  readonly hasLearned: boolean;
}

/** The success criterion of the quick start: a gain of at least 0.4, to at least 0.8. */
function hasLearned(before: number, after: number): boolean {
  return after - before >= 0.4 && after >= 0.8;
}

function trainOnce(seed: number): Outcome {
  using dataDir = temporaryFolder();
  const agl = path.join(root, 'apps/trainer/dist/cli/main.js');
  const config = path.join(root, 'examples', flags.example, 'agl.config.ts');
  const args = [agl, 'train', config, '--json', '--seed', String(seed), '--data-dir', dataDir.path];
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', maxBuffer: 2 ** 28 });
  const done = JSON.parse(stdout.trim().split('\n').at(-1) ?? '{}') as Record<string, unknown>;
  if (done['event'] !== 'done') {
    process.stderr.write(stderr);
    return { seed, before: Number.NaN, after: Number.NaN, seconds: Number.NaN, hasLearned: false };
  }
  const [before, after, seconds] = [done['reward_before'], done['reward_after'], done['seconds']].map(Number) as [
    number,
    number,
    number,
  ];
  return { seed, before, after, seconds, hasLearned: hasLearned(before, after) };
}

const outcomes = Array.from({ length: flags.seeds }, (_, index) => {
  const outcome = trainOnce(flags.first + index);
  const { seed, before, after, seconds } = outcome;
  console.log(`seed ${seed}: ${before.toFixed(3)} -> ${after.toFixed(3)} in ${seconds.toFixed(1)} s`);
  return outcome;
});
const learned = outcomes.filter((outcome) => outcome.hasLearned).length;
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
    { value: median(outcomes.map(({ seconds }) => seconds)), unit: 's' },
    { atMost: 120 },
  ),
]);
