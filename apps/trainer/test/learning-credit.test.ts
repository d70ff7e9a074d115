// @module-tag long
import { air, grpo, type PolicyGradientOptions } from '@agentlightning/algorithms';
import { loadBaseModel, type ModelEngine } from '@agentlightning/runtime-cpu/internal';
import { expect, test } from 'vitest';
import { chainAgent, luckyAgent, type StockTask, stockAgent, stockTasks } from './learning/stock-task.ts';
import { copyOf, learn, meanOf, type TinyAgent } from './learning/tiny-learner.ts';

/** Steps decide, not time: every draw is seeded, so that a slow machine learns the same. */
const timeoutMs = 600_000;

const startCheckpoint = (): Promise<ModelEngine> => loadBaseModel('tiny-chat', 1);
const tiny = { learningRate: 2e-3, entropyCoefficient: 0.003, optimizer: { beta2: 0.99 } } as const;

async function curveOf(
  agent: TinyAgent<StockTask>,
  options: PolicyGradientOptions,
  { tasks, steps }: { readonly tasks: number; readonly steps: number },
): Promise<readonly number[]> {
  const algorithm = grpo({ ...tiny, ...options });
  const tasksOfStep = (step: number): readonly StockTask[] => stockTasks(step, tasks);
  return await learn({ engine: await startCheckpoint(), algorithm, agent, tasksOfStep, steps });
}

test('where luck in one turn drowns what was done well in the others, credit by turn learns, and one for all does not', {
  timeout: timeoutMs,
}, async () => {
  const size = { tasks: 4, steps: 8 };
  const broadcast = await curveOf(luckyAgent, { groupSize: 4, creditAssignment: { type: 'terminal' } }, size);
  const perTurn = await curveOf(luckyAgent, { groupSize: 4, creditAssignment: { type: 'per-turn' } }, size);
  expect(perTurn[0]).toBe(broadcast[0]);
  expect(perTurn[0]).toBeLessThan(0.55);
  expect(meanOf(perTurn, 3)).toBeGreaterThan(0.75);
  expect(meanOf(broadcast, 3)).toBeLessThan(0.6);
});

test('rewards on the way make a task learnable of which the outcome alone says nothing', {
  timeout: timeoutMs,
}, async () => {
  const size = { tasks: 4, steps: 12 };
  const sparse = await curveOf(chainAgent, { groupSize: 8 }, size);
  const guided = await curveOf(
    chainAgent,
    { groupSize: 8, intermediateRewards: [air.onToolSuccess(1)], creditAssignment: { type: 'per-turn' } },
    size,
  );
  expect(guided[0]).toBeLessThan(0.1);
  expect(meanOf(guided, 3)).toBeGreaterThan(0.3);
  expect(meanOf(sparse, 3)).toBeLessThan(0.1);
});

/** Learns from what the model of two steps ago sampled; with the largest norm of gradients. */
async function learnStale(seed: number, options: PolicyGradientOptions): Promise<StaleRun> {
  const engine = await startCheckpoint();
  const past: ModelEngine[] = [];
  const norms: number[] = [];
  const curve = await learn({
    engine,
    seed,
    agent: stockAgent,
    algorithm: grpo({ ...tiny, learningRate: 4e-3, loss: 'importance_sampling', groupSize: 8, ...options }),
    tasksOfStep: (step) => stockTasks(step, 8),
    steps: 14,
    onStep: (norm) => norms.push(norm),
    sampler: (step) => {
      while (past.length < step) past.push(copyOf(engine));
      return past[Math.max(0, step - 3)] ?? engine;
    },
  });
  return { reward: meanOf(curve, 5), largestNorm: Math.max(...norms) };
}

interface StaleRun {
  readonly reward: number;
  readonly largestNorm: number;
}

test('truncated importance sampling keeps a run stable whose rollouts are two steps old; without, it breaks', {
  timeout: timeoutMs,
}, async () => {
  const seeds = [1, 2];
  const corrected: StaleRun[] = [];
  const plain: StaleRun[] = [];
  for (const seed of seeds) {
    corrected.push(await learnStale(seed, { samplerCorrection: { type: 'truncate' } }));
    plain.push(await learnStale(seed, {}));
  }
  const worst = (runs: readonly StaleRun[]): number => Math.min(...runs.map(({ reward }) => reward));
  const largest = (runs: readonly StaleRun[]): number => Math.max(...runs.map(({ largestNorm }) => largestNorm));
  expect(worst(corrected)).toBeGreaterThan(0.6);
  expect(worst(plain)).toBeLessThan(worst(corrected) - 0.2);
  expect(largest(plain)).toBeGreaterThan(1.5 * largest(corrected));
});
