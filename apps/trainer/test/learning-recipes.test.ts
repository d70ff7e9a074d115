import { type AlgorithmOptions, createAlgorithm, grpo } from '@agentlightning/algorithms';
import type { CollectedGroup, StepPlan } from '@agentlightning/core/algorithm';
import { loadBaseModel, type ModelEngine } from '@agentlightning/runtime-cpu/internal';
import { describe, expect, test } from 'vitest';
import { expectRecordedCurve } from './learning/recorded-curve.ts';
import { stockAgent, stockTasks } from './learning/stock-task.ts';
import { learn, meanOf } from './learning/tiny-learner.ts';

/** Steps decide, not time: every draw is seeded, so that a slow machine learns the same. */
const timeoutMs = 600_000;
const steps = 8;

const startCheckpoint = (hasValueHead = false): Promise<ModelEngine> => loadBaseModel('tiny-chat', 1, { hasValueHead });

/** What the tiny model needs besides the recipe's own defaults. */
const tiny = { learningRate: 2e-3, optimizer: { beta2: 0.99 } } as const;

describe('every recipe learns the small tool task from the start checkpoint', () => {
  const curious = { ...tiny, entropyCoefficient: 0.01 } as const;
  test.each<AlgorithmOptions>([
    { type: 'grpo', ...curious },
    // Four optimizer steps for every one of the others.
    { type: 'ppo', ...curious, learningRate: 1e-3 },
  ])('$type', { timeout: timeoutMs }, expectToLearn);

  test.each<AlgorithmOptions>([
    { type: 'dr-grpo', ...curious },
    { type: 'dapo', ...curious },
    { type: 'gspo', ...curious },
    { type: 'cispo', ...curious },
    { type: 'rloo', ...curious },
    { type: 'reinforce++', ...curious },
    { type: 'rejection-sampling', ...tiny },
    { type: 'dpo', ...tiny },
    { type: 'kto', ...tiny, groupSize: 4 },
  ])('$type', { timeout: timeoutMs, tags: ['long'] }, expectToLearn);
});

test.each([1, 2, 3])('ppo keeps what it has learned: seed %i', { timeout: timeoutMs, tags: ['long'] }, async (seed) => {
  const algorithm = createAlgorithm({ type: 'ppo', ...tiny, learningRate: 1e-3 });
  const engine = await startCheckpoint(true);
  const tasksOfStep = (step: number): ReturnType<typeof stockTasks> => stockTasks(step, 64);
  const curve = await learn({ engine, algorithm, agent: stockAgent, tasksOfStep, steps: 16, seed });
  expect(Math.max(...curve.slice(0, 12))).toBeGreaterThan(0.8);
  expect(meanOf(curve, 4)).toBeGreaterThan(0.7);
});

async function expectToLearn(options: AlgorithmOptions): Promise<void> {
  const algorithm = createAlgorithm(options);
  const tasksPerStep = 64 / algorithm.groupSize;
  const engine = await startCheckpoint(algorithm.needsValueHead);
  const tasksOfStep = (step: number): ReturnType<typeof stockTasks> => stockTasks(step, tasksPerStep);
  const reference = await startCheckpoint();
  const curve = await learn({ engine, reference, algorithm, agent: stockAgent, tasksOfStep, steps });
  expect(curve[0]).toBeLessThan(0.35);
  expect(meanOf(curve, 3)).toBeGreaterThan(0.65);
  expectRecordedCurve(algorithm.name, curve);
}

describe('what must not learn does not', () => {
  const control = { algorithm: grpo({ groupSize: 8, ...tiny }), agent: stockAgent, steps, seed: 2 };
  const tasksOfStep = (step: number): ReturnType<typeof stockTasks> => stockTasks(step, 8);

  test('from rewards of other rollouts', { timeout: timeoutMs, tags: ['long'] }, async () => {
    const engine = await startCheckpoint();
    const curve = await learn({ ...control, engine, tasksOfStep, onGroups: withShuffledRewards });
    expect(curve[0]).toBeGreaterThan(0.2);
    expect(meanOf(curve, 3)).toBeLessThan(0.35);
  });

  test('from advantages of the wrong sign: it gets worse', { timeout: timeoutMs, tags: ['long'] }, async () => {
    const engine = await startCheckpoint();
    const curve = await learn({ ...control, engine, tasksOfStep, onPlan: withAdvantages((advantage) => -advantage) });
    expect(curve[0]).toBeGreaterThan(0.2);
    expect(meanOf(curve, 3)).toBeLessThan(0.05);
  });

  test('from advantages of zero: no weight changes', { timeout: timeoutMs }, async () => {
    const engine = await startCheckpoint();
    const before = engine.parameters();
    await learn({ ...control, engine, tasksOfStep, steps: 2, onPlan: withAdvantages(() => 0) });
    expect(engine.step).toBe(2);
    expect(engine.parameters()).toEqual(before);
  });
});

/** Every rollout gets the reward of another one of its step, by a permutation that each step has another of. */
function withShuffledRewards(groups: readonly CollectedGroup[], step: number): readonly CollectedGroup[] {
  const rewards = groups.flatMap(({ rollouts }) => rollouts.map(({ spans }) => spans.at(-1)?.attributes ?? {}));
  const rank = (index: number): number => (index * 7919 + step * 104_729) % 997;
  const order = [...rewards.keys()].sort((one, other) => rank(one) - rank(other));
  let next = 0;
  return groups.map((group) => ({
    ...group,
    rollouts: group.rollouts.map((rollout) => {
      const attributes = rewards[order[next++] ?? 0] ?? {};
      const last = rollout.spans.at(-1);
      return last === undefined
        ? rollout
        : { ...rollout, spans: [...rollout.spans.slice(0, -1), { ...last, attributes }] };
    }),
  }));
}

function withAdvantages(change: (advantage: number) => number): (plan: StepPlan) => StepPlan {
  return (plan) => ({
    ...plan,
    updates: plan.updates.map((update) => ({
      ...update,
      batches: update.batches.map(({ data }) => ({
        data: data.map((datum) => ({ ...datum, advantages: datum.advantages.map(change) })),
      })),
    })),
  });
}
