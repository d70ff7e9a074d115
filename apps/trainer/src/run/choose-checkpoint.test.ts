import { expect, test } from 'vitest';
import { chooseCheckpoint } from './choose-checkpoint.ts';
import { initialRunState, type RunState } from './run-state.ts';

const saved = (step: number) => ({ step, uris: {} });
const evaluated = (step: number, reward: number) => ({ step, summary: { reward } }) as RunState['evaluations'][number];
const state: RunState = {
  ...initialRunState({ steps: 6, seed: 0, dataDir: '.' }),
  finishedStep: 6,
  checkpoints: [saved(2), saved(4), saved(6)],
  checkpoint: saved(6),
  evaluations: [evaluated(2, 0.4), evaluated(3, 0.9), evaluated(4, 0.7), evaluated(6, 0.7)],
};

test.each([
  ['latest', 6],
  // Step 3 has the highest reward and no checkpoint.
  // Of the two with equal rewards, the later one.
  ['best', 6],
  ['2', 2],
])('%s is step %d', (choice, step) => {
  expect(chooseCheckpoint(state, choice).step).toBe(step);
});

test('the final checkpoint is the one that the run ended with, or the latest one', () => {
  expect(chooseCheckpoint(state, 'final').step).toBe(6);
  expect(chooseCheckpoint({ ...state, finalStep: 4 }, 'final').step).toBe(4);
});

test('the evaluation after training counts for the final checkpoint, the one before it for none', () => {
  const after = { reward: 0.8 } as RunState['after'];
  const before = { reward: 0.9 } as RunState['before'];
  const finished = {
    ...state,
    checkpoints: [saved(0), ...state.checkpoints],
    before,
    after,
    evaluations: [evaluated(4, 0.7)],
  };
  expect(chooseCheckpoint(finished, 'best').step).toBe(6);
  expect(chooseCheckpoint({ ...finished, finalStep: 2 }, 'best').step).toBe(2);
});

test('an unknown checkpoint is an error that lists the saved ones', () => {
  expect(() => chooseCheckpoint(state, '5')).toThrow(
    expect.objectContaining({ remedy: expect.stringContaining('2, 4, 6') }),
  );
  expect(() => chooseCheckpoint({ ...state, checkpoints: [], checkpoint: null }, 'latest')).toThrow(
    /no checkpoint "latest"/,
  );
});
