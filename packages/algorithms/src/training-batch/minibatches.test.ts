import fc from 'fast-check';
import { expect, test } from 'vitest';
import { minibatches } from './training-batches.ts';

const items = Array.from({ length: 10 }, (_, index) => index);

test('one part has all items in their order', () => {
  expect(minibatches(items, { epochs: 2, minibatches: 1, seed: 0 })).toEqual([items, items]);
});

test('each epoch has each item once, in parts of equal size give or take one', () => {
  const size = fc.integer({ min: 1, max: 12 });
  fc.assert(
    fc.property(
      fc.record({
        count: fc.nat({ max: 30 }),
        epochs: fc.integer({ min: 1, max: 3 }),
        parts: size,
        seed: fc.integer(),
      }),
      ({ count, epochs, parts, seed }) => {
        const all = Array.from({ length: count }, (_, index) => index);
        const batches = minibatches(all, { epochs, minibatches: parts, seed });
        const perEpoch = Math.min(parts, count);
        expect(batches).toHaveLength(epochs * perEpoch);
        for (let epoch = 0; epoch < epochs; epoch += 1) {
          const ofEpoch = batches.slice(epoch * perEpoch, (epoch + 1) * perEpoch);
          expect(ofEpoch.flat().toSorted((one, other) => one - other)).toEqual(all);
          const sizes = ofEpoch.map((part) => part.length);
          if (count > 0) expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1);
        }
      },
    ),
  );
});

test('the same seed gives the same parts, another seed and the next epoch others', () => {
  const [first, , second] = minibatches(items, { epochs: 2, minibatches: 2, seed: 1 });
  expect(minibatches(items, { epochs: 2, minibatches: 2, seed: 1 })[0]).toEqual(first);
  expect(minibatches(items, { epochs: 1, minibatches: 2, seed: 2 })[0]).not.toEqual(first);
  expect(second).not.toEqual(first);
});
