import path from 'node:path';
import { type TrainConfig, Trainer } from '@agentlightning/trainer';
import { type BenchmarkResult, result } from '../report.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const example = path.resolve(import.meta.dirname, '../../examples/stock-clerk/agl.config.ts');

type Collection = NonNullable<TrainConfig['collection']>;

/** Trains the example `stock-clerk` on the embedded runtime with several seeds in both modes. */
export async function compareLearning(
  seeds: number,
  modes: { readonly sync: Collection; readonly async: Collection },
): Promise<readonly BenchmarkResult[]> {
  const rewards: Record<keyof typeof modes, number[]> = { sync: [], async: [] };
  for (let seed = 1; seed <= seeds; seed += 1) {
    for (const mode of ['sync', 'async'] as const) {
      const reward = await heldOutReward(seed, modes[mode]);
      console.log(`seed ${seed}, ${mode}: ${reward.toFixed(3)}`);
      rewards[mode].push(reward);
    }
  }
  const differences = rewards.async.map((reward, index) => reward - (rewards.sync[index] ?? Number.NaN));
  const { mean, halfWidth } = confidenceInterval(differences);
  return [
    result('held-out reward, synchronous', { value: meanOf(rewards.sync), unit: 'reward' }, null),
    result('held-out reward, asynchronous', { value: meanOf(rewards.async), unit: 'reward' }, null),
    result(
      'difference beyond its 95 % interval',
      { value: Math.max(0, -mean - halfWidth), unit: 'reward' },
      { atMost: 0 },
    ),
  ];
}

async function heldOutReward(seed: number, collection: Collection): Promise<number> {
  using dataDir = temporaryFolder();
  const { default: config } = (await import(example)) as { readonly default: TrainConfig };
  const tasks = {
    train: path.resolve(path.dirname(example), String(config.tasks.train)),
    test: path.resolve(path.dirname(example), String(config.tasks.test)),
  };
  const summary = await new Trainer({
    ...config,
    tasks,
    run: { ...config.run, seed, dataDir: dataDir.path },
    collection,
  }).fit();
  return summary.after.reward;
}

/** The mean of paired differences, and half the width of its 95 % interval (Student's t). */
function confidenceInterval(values: readonly number[]): { readonly mean: number; readonly halfWidth: number } {
  const mean = meanOf(values);
  if (values.length < 2) return { mean, halfWidth: Number.POSITIVE_INFINITY };
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1);
  return { mean, halfWidth: (tQuantiles[values.length - 1] ?? 1.96) * Math.sqrt(variance / values.length) };
}

/** The 0.975 quantiles of Student's t by degrees of freedom; 1.96 above. */
const tQuantiles = [Number.NaN, 12.71, 4.3, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26];

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
