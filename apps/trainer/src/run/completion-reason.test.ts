import { expect, test } from 'vitest';
import { completionReason } from './completion-reason.ts';
import type { RunState } from './run-state.ts';
import { summariseRewards } from './stored-evaluation.ts';

const never = { reward: null, warnings: [], patience: null, minDelta: 0, maxLogprobGap: 0.1 } as const;

/** Evaluations of ten tasks with these means, from the one before training. */
function measuredRun(means: readonly number[]): Parameters<typeof completionReason>[0] {
  const [before = null, ...during] = means.map((mean) => {
    const rewards = Array.from({ length: 10 }, (_, task) => (task < 10 * mean ? 1 : 0));
    return summariseRewards(
      { rewards, rolloutIds: rewards.map((_, task) => `ro-${task}`), failed: 0, rolloutsPerTask: 1 },
      null,
    );
  });
  return aRun({ before, evaluations: during.map((summary, index) => ({ step: index + 1, summary })) });
}

const rewards = { below: [0.2, 0.4, 0.5, 0.6], reached: [0.2, 1, 1, 1] };

/** A run of four steps without evaluations. */
function aRun(changes: Partial<RunState> = {}): Parameters<typeof completionReason>[0] {
  return { finishedStep: 4, rewardCurve: rewards.below, warnings: [], before: null, evaluations: [], ...changes };
}

test('a run is complete when all its steps are finished', () => {
  expect(completionReason(aRun(), { steps: 8, stop: never })).toBeNull();
  const empty = aRun({ finishedStep: 0, rewardCurve: [] });
  expect(completionReason(empty, { steps: 0, stop: { ...never, reward: 1 } })).toBe('steps');
  expect(completionReason(aRun(), { steps: 4, stop: never })).toBe('steps');
  expect(completionReason(aRun(), { steps: 2, stop: never })).toBe('steps');
  expect(completionReason(aRun(), { steps: 8, stop: { ...never, reward: 1 } })).toBeNull();
});

test('a run is complete when its goal is reached, even with more steps', () => {
  const reached = aRun({ rewardCurve: rewards.reached });
  expect(completionReason(reached, { steps: 8, stop: { ...never, reward: 1 } })).toBe('goal');
  expect(completionReason(reached, { steps: 4, stop: { ...never, reward: 1 } })).toBe('goal');
  expect(completionReason(reached, { steps: 8, stop: { ...never, reward: 1.1 } })).toBeNull();
});

test('a run is complete when a warning of `stop.warnings` was emitted', () => {
  const warned = aRun({ warnings: [{ name: 'constant-groups', step: 3, policy: null, message: '' }] });
  const settings = { steps: 8 };
  expect(completionReason(warned, { ...settings, stop: never })).toBeNull();
  expect(completionReason(warned, { ...settings, stop: { ...never, warnings: ['kl-blow-up'] } })).toBeNull();
  expect(completionReason(warned, { ...settings, stop: { ...never, warnings: ['constant-groups'] } })).toBe('warning');
});

test.each([
  [[0.1, 0.3, 0.2], null],
  [[0.1, 0.3, 0.2, 0.3], 'patience'],
  [[0.3, 0.2, 0.1], 'patience'],
  [[0.1, 0.3, 0.2, 0.4], null],
] as const)('with a patience of 2, held-out rewards of %j give %s', (measured, expected) => {
  const [before, ...during] = measured.map((reward) =>
    summariseRewards({ rewards: [reward], rolloutIds: ['ro-1'], failed: 0, rolloutsPerTask: 1 }, null),
  );
  const evaluations = during.map((summary, index) => ({ step: index + 1, summary }));
  const run = aRun({ before: before ?? null, evaluations });
  const settings = { steps: 8, stop: { ...never, patience: 2 } };
  expect(completionReason(run, settings)).toBe(expected);
});

test.each([
  [0, [0.1, 0.2, 0.3, 0.4], null],
  [0.15, [0.1, 0.2, 0.2, 0.3], null],
  // Not more than 0.15 above the best one of them.
  [0.15, [0.1, 0.3, 0.4, 0.4], 'patience'],
  // Slow progress adds up.
  [0.15, [0.1, 0.3, 0.4, 0.5], null],
  ['interval', [0.1, 0.3, 0.3, 0.3], 'patience'],
  ['interval', [0.1, 0.3, 0.3, 0.9], null],
] as const)(
  'with a patience of 2 and a minDelta of %s, held-out rewards of %j give %s',
  (minDelta, means, expected) => {
    const settings = { steps: 8, stop: { ...never, patience: 2, minDelta } };
    expect(completionReason(measuredRun(means), settings)).toBe(expected);
  },
);

test('patience counts validation only, if there is any', () => {
  const settings = { steps: 8, stop: { ...never, patience: 2 } };
  const { evaluations, ...run } = measuredRun([0.9, 0.2, 0.3]);
  expect(completionReason({ ...run, evaluations }, settings)).toBe('patience');
  const validated = evaluations.map(({ step, summary }) => ({ step: step - 1, summary }));
  expect(completionReason({ ...run, evaluations: validated }, settings)).toBeNull();
});
