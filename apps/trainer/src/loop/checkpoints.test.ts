import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { RunState } from '../run/run-state.ts';
import { checkpointsToKeep } from './checkpoints.ts';

type Known = Pick<RunState, 'checkpoints' | 'evaluations'>;

const stateOf = (steps: readonly number[], rewards: Readonly<Record<number, number>>): Known => ({
  checkpoints: steps.map((step) => ({ step, uris: { policy: `run/${step}` } })),
  evaluations: Object.entries(rewards).map(([step, reward]) => ({
    step: Number(step),
    summary: { reward, ci95: [reward, reward], rollouts: 1, failed: 0, missing: 0 },
  })),
});

const keptOf = (state: Known, keep: number, keepBest = true): readonly number[] =>
  checkpointsToKeep(state, { keep, keepBest }).map(({ step }) => step);

test('keeps the newest checkpoints and the best evaluated one', () => {
  const state = stateOf([1, 2, 3, 4, 5], { 2: 0.75, 4: 0.5 });
  expect(keptOf(state, 2)).toEqual([2, 4, 5]);
  expect(keptOf(state, 2, false)).toEqual([4, 5]);
  expect(keptOf(stateOf([1, 2, 3], { 2: 0.5, 3: 0.25 }), 1)).toEqual([2, 3]);
  // Of equal evaluations, the later one is the best.
  expect(keptOf(stateOf([1, 2, 3], { 2: 0.5, 3: 0.5 }), 1)).toEqual([3]);
  // A checkpoint that was evaluated and deleted is not a candidate.
  expect(keptOf(stateOf([3, 4, 5], { 2: 0.75, 3: 0.5 }), 1)).toEqual([3, 5]);
  expect(keptOf(stateOf([], {}), 3)).toEqual([]);
});

test('always keeps the newest checkpoint, and at most one more than the configured number', () => {
  const step = fc.integer({ min: 0, max: 30 });
  fc.assert(
    fc.property(
      fc.uniqueArray(step, { minLength: 1 }),
      fc.dictionary(step.map(String), fc.double({ min: 0, max: 1, noNaN: true })),
      fc.integer({ min: 1, max: 5 }),
      (steps, rewards, keep) => {
        const saved = steps.toSorted((one, other) => one - other);
        const kept = keptOf(stateOf(saved, rewards), keep);
        expect(kept.at(-1)).toBe(saved.at(-1));
        expect(kept.length).toBeLessThanOrEqual(keep + 1);
        expect(kept.length).toBeGreaterThanOrEqual(Math.min(keep, saved.length));
      },
    ),
  );
});
