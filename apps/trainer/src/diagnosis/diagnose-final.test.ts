import { expect, test } from 'vitest';
import { type StoredEvaluation, summariseRewards } from '../run/stored-evaluation.ts';
import { diagnoseFinal } from './diagnose-final.ts';

/** An evaluation of 20 tasks with these mean rewards of 0 and 1, and the same mean of the part `correct` if there is one. */
function evaluationOf(reward: number, correct?: number): StoredEvaluation {
  const rewards = (mean: number): readonly number[] =>
    Array.from({ length: 20 }, (_, task) => (task < 20 * mean ? 1 : 0));
  const parts = correct === undefined ? {} : { parts: { total: rewards(reward), correct: rewards(correct) } };
  const rolloutIds = rewards(0).map(String);
  return summariseRewards({ rewards: rewards(reward), rolloutIds, failed: 0, rolloutsPerTask: 1, ...parts }, null);
}

const summary = evaluationOf(1);
const base = { before: evaluationOf(0.3), finalStep: 4, evaluations: [] };

test('a part that falls while the reward rises is named with its means', () => {
  const evaluations = { ...base, before: evaluationOf(0.3, 0.3), after: evaluationOf(1, 0) };
  const [condition, ...others] = diagnoseFinal(evaluations);
  expect(condition).toMatchObject({ name: 'proxy-diverges' });
  expect(condition?.message).toContain('`correct` fell from 0.30 to 0.00');
  expect(others).toEqual([]);
  expect(diagnoseFinal({ ...evaluations, weights: { total: 1, correct: -1 } })).toEqual([]);
  expect(diagnoseFinal({ ...evaluations, after: evaluationOf(1, 0.25) })).toEqual([]);
});

test.each([
  ['during training', { ...base, after: evaluationOf(0), evaluations: [{ step: 4, summary }] }, '1.00 and then 0.00'],
  ['before training', { ...base, after: evaluationOf(1), finalStep: 0 }, '0.30 and then 1.00'],
])('the same weights with another reward than %s are named', (_, evaluations, text) => {
  expect(diagnoseFinal(evaluations)).toEqual([
    { name: 'non-stationary-reward', message: expect.stringContaining(`measured ${text}`) },
  ]);
});

test('measurements whose intervals overlap, or of other weights, are no contradiction', () => {
  expect(
    diagnoseFinal({ ...base, after: evaluationOf(0.35), evaluations: [{ step: 4, summary: evaluationOf(0.4) }] }),
  ).toEqual([]);
  expect(diagnoseFinal({ ...base, after: evaluationOf(0), evaluations: [{ step: 2, summary }] })).toEqual([]);
});
