import { expect, test } from 'vitest';
import { completionReason } from './completion-reason.ts';

const curve = (...rewardCurve: number[]) => ({ finishedStep: rewardCurve.length, rewardCurve });

test('a run is complete when it has finished at least the configured steps', () => {
  expect(completionReason(curve(0, 1), { steps: 3, stopAtReward: null })).toBeNull();
  expect(completionReason(curve(0, 1), { steps: 2, stopAtReward: null })).toBe('steps');
  expect(completionReason(curve(0, 1), { steps: 1, stopAtReward: null })).toBe('steps');
  expect(completionReason(curve(), { steps: 0, stopAtReward: 1 })).toBe('steps');
});

test('a reached goal takes precedence over finished steps', () => {
  expect(completionReason(curve(1, 1, 1), { steps: 9, stopAtReward: 1 })).toBe('goal');
  expect(completionReason(curve(1, 1, 1), { steps: 3, stopAtReward: 1 })).toBe('goal');
  expect(completionReason(curve(1, 1, 1), { steps: 9, stopAtReward: 1.5 })).toBeNull();
});
