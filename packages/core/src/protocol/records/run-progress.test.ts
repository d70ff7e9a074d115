import { expect, test } from 'vitest';
import { readRunProgress } from './run-progress.ts';

const trials = [
  { task: 0, rollouts: 8, isSolved: false, latest: ['ro-1', 'ro-2'] },
  { task: 1, rollouts: 8, isSolved: true, latest: [] },
  { task: 2, rollouts: 4, isSolved: false, latest: ['ro-3'] },
];

const state = { taskTrials: { current: trials, saved: [] } };

function unsolved(recorded: object, collection: object | null): readonly unknown[] {
  const run = { state: recorded, config: { collection } } as unknown as Parameters<typeof readRunProgress>[0];
  return readRunProgress(run).unsolvedTasks;
}

test('tasks without a solution in the configured number of rollouts are set aside, with rollouts', () => {
  expect(unsolved(state, { curriculum: { setAsideAfter: 8 } })).toEqual([
    { task: 0, rollouts: 8, examples: ['ro-1', 'ro-2'] },
  ]);
});

test.each([
  ['without a curriculum', state, { curriculum: null }],
  ['without a limit', state, { curriculum: { setAsideAfter: null } }],
  ['without a recorded collection', state, null],
  ['with an unreadable limit', state, { curriculum: { setAsideAfter: 'often' } }],
  ['without trials', {}, { curriculum: { setAsideAfter: 8 } }],
  ['with unreadable trials', { taskTrials: { current: [{ task: 'first' }] } }, { curriculum: { setAsideAfter: 8 } }],
])('a run %s has none', (_, recorded, collection) => {
  expect(unsolved(recorded, collection)).toEqual([]);
});
