import { expect, test } from 'vitest';
import { seededRandom } from '../base/seeded-random.ts';
import { compareSequentially, confidenceSequence } from './confidence-sequence.ts';

/** Simulated canaries: at each of 168 hourly looks, a week, users of both versions have given one value more. */
const looks = 168;
const perLook = { before: 8, after: 2 };

/** Draws values of a user. */
type Draw = (random: () => number) => number;

const vote =
  (mean: number): Draw =>
  (random) =>
    random() < mean ? 1 : 0;
/** Skewed scores: most are near 1, few near 0. */
const skewed: Draw = (random) => 1 - random() ** 8;

/** The sign of the difference that any look of a week shows; 0 for none. The last look includes all earlier ones. */
function shownSign(before: Draw, after: Draw, seed: number): -1 | 0 | 1 {
  const random = seededRandom(seed);
  const values = { before: [] as number[], after: [] as number[] };
  for (let look = 1; look <= looks; look += 1) {
    for (let each = 0; each < perLook.before; each += 1) values.before.push(before(random));
    for (let each = 0; each < perLook.after; each += 1) values.after.push(after(random));
  }
  const { low, high } = compareSequentially(values.before, values.after, { alpha: 0.05 });
  return low > 0 ? 1 : high < 0 ? -1 : 0;
}

/** The share of simulated canaries without a difference that any of the hourly looks reports one for. */
function falsePositives(draw: Draw, canaries: number): number {
  let wrong = 0;
  for (let seed = 1; seed <= canaries; seed += 1) if (shownSign(draw, draw, seed) !== 0) wrong += 1;
  return wrong / canaries;
}

test('hourly looks at thousands of canaries without a difference report one in at most 5 % of them', () => {
  const rates = [0.5, 0.9, 0.02].map((mean) => falsePositives(vote(mean), 1000));
  rates.push(falsePositives(skewed, 1000));
  for (const rate of rates) expect(rate).toBeLessThanOrEqual(0.05);
}, 60_000);

test('a planted difference is shown within a week, in its direction', () => {
  const canaries = 200;
  const signs = { better: 0, worse: 0 };
  for (let seed = 1; seed <= canaries; seed += 1) {
    if (shownSign(vote(0.6), vote(0.85), seed) === 1) signs.better += 1;
    if (shownSign(vote(0.85), vote(0.6), seed) === -1) signs.worse += 1;
  }
  expect(signs.better / canaries).toBeGreaterThan(0.9);
  expect(signs.worse / canaries).toBeGreaterThan(0.9);
}, 60_000);

test('a bound that was reached once is kept: looking at more values never widens the interval', () => {
  const random = seededRandom(7);
  const values = Array.from({ length: 400 }, () => vote(0.7)(random));
  let last = { low: 0, high: 1 };
  for (let count = 1; count <= values.length; count += 7) {
    const interval = confidenceSequence(values.slice(0, count));
    expect(interval.low).toBeGreaterThanOrEqual(last.low);
    expect(interval.high).toBeLessThanOrEqual(last.high);
    last = interval;
  }
  expect(last.low).toBeGreaterThan(0.55);
  expect(last.high).toBeLessThan(0.85);
});

test('without values nothing is known, and values outside of 0 to 1 are refused', () => {
  expect(confidenceSequence([])).toEqual({ mean: null, low: 0, high: 1, count: 0 });
  expect(compareSequentially([], [1, 1])).toMatchObject({ high: 1 });
  expect(() => confidenceSequence([0.5, 1.5])).toThrow('got 1.5');
  expect(() => confidenceSequence([0.5], { alpha: 0 })).toThrow('alpha');
});
