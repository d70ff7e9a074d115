import { expect, test } from 'vitest';
import { whyNoStepIsLeft } from './steps-left.ts';

const curve = (...rewardCurve: number[]) => ({ finishedStep: rewardCurve.length, rewardCurve });

test('no step is left when all are done, or more than all', () => {
  expect(whyNoStepIsLeft(curve(0, 1), { steps: 3, stopAtReward: null })).toBeNull();
  expect(whyNoStepIsLeft(curve(0, 1), { steps: 2, stopAtReward: null })).toBe('steps');
  expect(whyNoStepIsLeft(curve(0, 1), { steps: 1, stopAtReward: null })).toBe('steps');
  expect(whyNoStepIsLeft(curve(), { steps: 0, stopAtReward: 1 })).toBe('steps');
});

test('a goal that is reached is the reason also when all steps are done: more of them would not help', () => {
  expect(whyNoStepIsLeft(curve(1, 1, 1), { steps: 9, stopAtReward: 1 })).toBe('goal');
  expect(whyNoStepIsLeft(curve(1, 1, 1), { steps: 3, stopAtReward: 1 })).toBe('goal');
  expect(whyNoStepIsLeft(curve(1, 1, 1), { steps: 9, stopAtReward: 1.5 })).toBeNull();
});
