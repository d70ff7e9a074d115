import { expect, test } from 'vitest';
import { diagnoseEvaluation } from './diagnose-evaluation.ts';

/** The warnings of the last evaluation, with evaluations every three steps from step 0. */
function warningsOf(heldOut: readonly number[], rewardCurve: readonly number[], missing = 0): readonly string[] {
  const evaluations = heldOut.map((reward, index) => ({
    step: index * 3,
    summary: { reward, ci95: [0, 1] as const, rollouts: 10, failed: 0, missing },
  }));
  return diagnoseEvaluation({ evaluations, rewardCurve, range: [0, 1] }).map(({ name, step }) => `${step} ${name}`);
}

const rising = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9];

test.each<[string, readonly number[], readonly number[], readonly string[]]>([
  ['both rise', [0.1, 0.3, 0.5], rising.slice(0, 6), []],
  ['the held-out reward falls by less than the threshold', [0.1, 0.5, 0.46], rising.slice(0, 6), []],
  ['the held-out reward falls', [0.1, 0.5, 0.4], rising.slice(0, 6), ['6 held-out-reward-falls']],
  ['it stays below its best', [0.1, 0.5, 0.4, 0.3], rising, []],
  ['it falls again after it has recovered', [0.5, 0.4, 0.5, 0.3], rising, ['9 held-out-reward-falls']],
  ['it falls below the first one', [0.5, 0.45, 0.3], rising.slice(0, 6), ['6 held-out-reward-falls']],
  ['both fall', [0.1, 0.5, 0.4], rising.slice(0, 6).toReversed(), []],
  ['there was no step', [0.5], [], []],
])('%s', (...[, heldOut, rewardCurve, expected]) => {
  expect(warningsOf(heldOut, rewardCurve)).toEqual(expected);
});

test('missing rewards are reported in each evaluation, with the rule', () => {
  expect(warningsOf([0.1, 0.2], [0.1, 0.2, 0.3], 2)).toEqual(['3 missing-rewards']);
});
