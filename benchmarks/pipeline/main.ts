/**
 * `pnpm bench pipeline`: the duration of training steps in synchronous and asynchronous mode, with model calls of
 * heavy-tailed latency and a runtime that takes time to learn. `--learning 5` also trains the example `stock-clerk` with
 * five seeds in both modes, and compares what they learned.
 *
 * @module
 */
import { type TrainConfig, Trainer, type TrainingEvent } from '@agentlightning/trainer';
import { parseFlags } from '../flags.ts';
import { report, result } from '../report.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { compareLearning } from './compare-learning.ts';
import { runnerLoad, threeCalls } from './measured-agent.ts';
import { serveSlowRuntime } from './slow-runtime.ts';

const flags = parseFlags({ steps: 10, learning: 0 });

const tasksPerStep = 8;
const groupSize = 8;

const modes = { sync: { mode: 'sync' }, async: { mode: 'async', maxStaleness: 1, oversample: 0.25 } } as const;

interface Measured {
  readonly seconds: number;
  /** The share of time in which a slot of the runner had no rollout. */
  readonly idleShare: number;
  /** The number of groups by staleness. */
  readonly staleness: readonly number[];
}

async function measure(mode: keyof typeof modes): Promise<Measured> {
  const runtime = await serveSlowRuntime({ learnMsPerToken: 0.05, publishMs: 200, callMs: 200, sigma: 1.2 });
  using dataDir = temporaryFolder();
  const load = runnerLoad(tasksPerStep * groupSize);
  const tasks = Array.from({ length: 64 }, (_, index) => ({ index }));
  const config: TrainConfig<{ index: number }> = {
    agent: threeCalls(load),
    tasks: { train: tasks, test: tasks.slice(0, 1) },
    algorithm: { type: 'grpo', groupSize, loss: 'importance_sampling' },
    runtime: { type: 'grpc', address: runtime.address },
    steps: flags.steps,
    tasksPerStep,
    agents: { concurrency: tasksPerStep * groupSize },
    collection: modes[mode],
    run: { dataDir: dataDir.path },
  };
  const metrics: Readonly<Record<string, number>>[] = [];
  let seconds = 0;
  const onEvent = (event: TrainingEvent): void => {
    if (event.type === 'rollout-finished' && event.phase === 'step' && event.step === 1) load.start();
    if (event.type !== 'stepped') return;
    metrics.push(event.summary.metrics);
    seconds += event.summary.seconds;
    if (event.summary.step === config.steps) load.stop();
  };
  try {
    await new Trainer(config).fit({ onEvent });
  } finally {
    await runtime.close();
  }
  const staleness = [0, 1].map((versions) =>
    metrics.reduce((sum, step) => sum + (step[`staleness/groups_${versions}`] ?? 0), 0),
  );
  return { seconds, idleShare: load.idleShare(), staleness };
}

const sync = await measure('sync');
const async = await measure('async');
const [fresh = 0, stale = 0] = async.staleness;
console.log(`staleness of the groups in asynchronous mode: 0: ${fresh}, 1: ${stale}`);
report('pipeline', [
  result('synchronous steps', { value: sync.seconds, unit: 's' }, null),
  result('asynchronous steps', { value: async.seconds, unit: 's' }, null),
  result('speedup', { value: sync.seconds / async.seconds, unit: 'x' }, { atLeast: 1.8 }),
  result('idle share of the runner, synchronous', { value: sync.idleShare, unit: 'share' }, null),
  result('idle share of the runner, asynchronous', { value: async.idleShare, unit: 'share' }, null),
  result('groups of the previous weights', { value: stale / (fresh + stale), unit: 'share' }, null),
  ...(flags.learning === 0 ? [] : await compareLearning(flags.learning, modes)),
]);
