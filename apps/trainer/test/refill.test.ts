import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Agent } from '@agentlightning/runner';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { countLetters, type SmallTask, smallTrainer, trainSmall } from './small-trainer.ts';

/** Each test starts processes, on a machine that may be busy. */
vi.setConfig({ testTimeout: 120_000 });

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'agl-refill-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Rewards differ within a group for tasks with an even index only. */
const evenTasksTeach: Agent<SmallTask> = async (task, context) => {
  await countLetters(task, context);
  return task.index % 2 === 0 && context.metadata?.['sample'] === 1 ? 1 : 0;
};

async function stepsOf(collection: object): Promise<readonly Readonly<Record<string, number>>[]> {
  const trainer = smallTrainer(folder, { agent: evenTasksTeach, steps: 2, collection });
  const { events, error } = await trainSmall(trainer);
  expect(error).toBeNull();
  const metrics = events.flatMap((event) => (event.type === 'stepped' ? [event.summary.metrics] : []));
  expect(metrics).toHaveLength(2);
  return metrics;
}

test('groups without a signal are replaced until all have one', async () => {
  for (const metrics of await stepsOf({ refillGroups: 40 })) {
    expect(metrics).toMatchObject({ 'groups/constant': 0, 'rollouts/used': 8 });
    expect(metrics['collection/replaced_groups']).toBeGreaterThan(0);
    // Half of the rollouts of a group with a signal are rewarded, and none of the others.
    expect(metrics['reward/mean']).toBe(0.5);
    expect(metrics['collection/reward_mean']).toBeLessThan(0.5);
  }
});

test('the budget of a step is not exceeded', async () => {
  for (const metrics of await stepsOf({ refillGroups: 1 })) {
    expect(metrics['collection/replaced_groups']).toBeLessThanOrEqual(1);
    expect(metrics['rollouts/used']).toBe(8);
  }
});

test('asynchronous collection replaces them as they finish', async () => {
  for (const metrics of await stepsOf({ mode: 'async', refillGroups: 40 })) {
    expect(metrics).toMatchObject({ 'groups/constant': 0, 'reward/mean': 0.5 });
    expect(metrics['collection/replaced_groups']).toBeGreaterThan(0);
  }
});

test.each([
  { mode: 'sync', refillGroups: 40 },
  { mode: 'async', refillGroups: 40 },
] as const)(
  'the reward of a step and its goal cover replaced groups, with %j',
  { tags: ['long'] },
  async (collection) => {
    // Only the first task teaches anything; the others always succeed.
    const agent: Agent<SmallTask> = async (task, context) => {
      await countLetters(task, context);
      return task.index === 0 && context.metadata?.['sample'] === 1 ? 0 : 1;
    };
    const trainer = smallTrainer(folder, { agent, steps: 9, collection, stop: { reward: 0.8 } });
    const { events, error } = await trainSmall(trainer);
    expect(error).toBeNull();
    const steps = events.flatMap((event) => (event.type === 'stepped' ? [event.summary] : []));
    expect(steps).toHaveLength(3);
    for (const { reward, metrics } of steps) {
      expect(reward).toBeGreaterThan(0.8);
      expect(metrics['collection/reward_mean']).toBe(reward);
      expect(metrics['reward/mean']).toBe(0.5);
    }
    expect(events.at(-1)).toMatchObject({
      summary: { training: { ended: 'goal' }, rewardCurve: steps.map(({ reward }) => reward) },
    });
  },
);
