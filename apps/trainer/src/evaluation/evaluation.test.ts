import { describe, expect, test } from 'vitest';
import { fewTasksText, judgeBySettings, judgeImprovement, pairByTask, relativeText } from '../diagnosis/verdict.ts';
import { rolloutReward } from '../results/rollout-reward.ts';
import { summariseRewards } from '../run/stored-evaluation.ts';

const substitutes = { failedReward: 0, missingReward: null, choice: {}, range: null, relativeParts: [] };

describe('the reward of a rollout', () => {
  test.each([
    ['whose agent failed', 'agent', 0],
    ['that failed by infrastructure', 'infrastructure', null],
    ['that was cancelled', 'cancelled', null],
    ['that succeeded without a reward', null, null],
  ] as const)('%s', (_name, failure, reward) => {
    expect(rolloutReward({ failure, spans: [] }, substitutes)).toBe(reward);
  });

  test('that is missing can be substituted, except after an infrastructure failure', () => {
    const substituted = { ...substitutes, failedReward: -1, missingReward: 0.5 };
    expect(rolloutReward({ failure: null, spans: [] }, substituted)).toBe(0.5);
    expect(rolloutReward({ failure: 'infrastructure', spans: [] }, substituted)).toBeNull();
  });
});

test('missing rewards are counted and excluded from the mean', () => {
  const measured = { rewards: [1, null, 0, 1], rolloutIds: ['a', 'b', 'c', 'd'], failed: 0, rolloutsPerTask: 2 };
  expect(summariseRewards(measured, null)).toMatchObject({ reward: 2 / 3, rollouts: 3, missing: 1 });
  const none = { ...measured, rewards: [null, null], failed: 1 };
  expect(() => summariseRewards(none, null)).toThrow(
    expect.objectContaining({
      code: 'INVALID_REWARD',
      message: expect.stringContaining('none of the 2 rollouts of the evaluation has a reward; the agent failed in 1'),
      remedy: expect.stringContaining('`agl show a`'),
    }),
  );
});

describe('the verdict', () => {
  const before = { rewards: Array.from({ length: 20 }, () => 0), rolloutsPerTask: 1 };
  const after = (missing: number): { rewards: (number | null)[]; rolloutsPerTask: number } => ({
    rolloutsPerTask: 1,
    rewards: Array.from({ length: 20 }, (_, index) => (index < missing ? null : 1)),
  });

  test('compares the tasks with both rewards while few rewards are missing', () => {
    expect(judgeImprovement(before, after(1), 0.05)).toEqual({
      verdict: 'better',
      means: { before: 0, after: 1 },
      isImproved: true,
      pValue: expect.closeTo(2 / 2 ** 19, 12),
      missingShare: 0.05,
    });
  });

  test('is null when more rewards are missing', () => {
    expect(judgeImprovement(before, after(2), 0.05)).toMatchObject({ isImproved: null, missingShare: 0.1 });
    expect(judgeImprovement(before, after(2), 0.1)).toMatchObject({ isImproved: true });
    expect(judgeImprovement(before, after(20), 1)).toMatchObject({ isImproved: null, pValue: null, missingShare: 1 });
  });

  test('of a significant fall is `worse`, and of no change `not-significant`', () => {
    expect(judgeImprovement(after(0), before, 0.05)).toMatchObject({ verdict: 'worse', isImproved: false });
    expect(judgeImprovement(before, before, 0.05)).toMatchObject({ verdict: 'not-significant', isImproved: false });
    // Rankings have the same mean for every agent.
    const evaluation = { maxMissingShare: 0.05 };
    const ranked = { evaluation, reward: { relativeParts: ['ranking'] } };
    expect(judgeBySettings(after(0), before, ranked)).toMatchObject({ verdict: 'undecided', isImproved: null });
    expect(judgeBySettings(after(0), before, { evaluation, reward: { relativeParts: [] } }).verdict).toBe('worse');
    expect(relativeText(ranked.reward)).toMatch(/depends on `ranking`/);
    expect(judgeImprovement(before, after(2), 0.05)).toMatchObject({ verdict: 'undecided' });
  });

  test('is that of the tasks: more samples of the same few tasks do not make it significant', () => {
    const often = { rewards: before.rewards, rolloutsPerTask: 10 };
    expect(judgeImprovement(often, { ...after(0), rolloutsPerTask: 10 }, 0.05)).toMatchObject({
      isImproved: false,
      pValue: 0.5,
      missingShare: 0,
    });
  });

  test.each([1, 2, 3, 4, 5])('warns of %i tasks if no rewards of 0 and 1 can be a significant improvement', (count) => {
    const improvements = Array.from({ length: count + 1 }, (_, better) => {
      const failed = { rewards: Array.from({ length: count }, () => 0), rolloutsPerTask: 1 };
      const improved = { rewards: failed.rewards.map((_reward, task) => (task < better ? 1 : 0)), rolloutsPerTask: 1 };
      return judgeImprovement(failed, improved, 0).isImproved;
    });
    expect(fewTasksText(count) === null).toBe(improvements.includes(true));
  });

  test('pairs the samples of a task, and leaves out those without both rewards', () => {
    const one = { rewards: [0, null, 1, 1, null, null], rolloutsPerTask: 2 };
    const other = { rewards: [1, 1, 0, 1, 1, 1], rolloutsPerTask: 2 };
    expect(pairByTask(one, other)).toEqual({
      tasks: [
        { task: 0, before: 0, after: 1, differences: [1], firstIndex: 0 },
        { task: 1, before: 1, after: 0.5, differences: [-1, 0], firstIndex: 2 },
      ],
      missingShare: 0.5,
    });
  });

  test('pairs evaluations with different numbers of samples by the means of their tasks', () => {
    const one = { rewards: [0, 1, null], rolloutsPerTask: 1 };
    const other = { rewards: [1, 0, 1, 1, 1, null], rolloutsPerTask: 2 };
    expect(pairByTask(one, other)).toEqual({
      tasks: [
        { task: 0, before: 0, after: 0.5, differences: [0.5], firstIndex: 0 },
        { task: 1, before: 1, after: 1, differences: [0], firstIndex: 2 },
      ],
      missingShare: 1 / 3,
    });
  });
});
