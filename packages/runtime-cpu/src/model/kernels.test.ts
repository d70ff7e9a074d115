import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Kernels } from './kernels.ts';

const kernels = new Kernels();
const { run } = kernels;

const multipleOf4 = (max: number): fc.Arbitrary<number> =>
  fc.integer({ min: 1, max: max / 4 }).map((count) => 4 * count);
const number = fc.integer({ min: -2000, max: 2000 }).map((value) => value / 1000);
const numbers = (count: number): fc.Arbitrary<number[]> => fc.array(number, { minLength: count, maxLength: count });

const product = fc
  .record({ rows: fc.integer({ min: 1, max: 11 }), inner: multipleOf4(24), columns: multipleOf4(44) })
  .chain((shape) =>
    fc.record({
      shape: fc.constant(shape),
      x: numbers(shape.rows * shape.inner),
      w: numbers(shape.inner * shape.columns),
    }),
  );

test('products of all shapes are those of float64', () => {
  fc.assert(
    fc.property(product, ({ shape: { rows, inner, columns }, x, w }) => {
      kernels.clear();
      const out = kernels.allocate(rows * columns);
      run.multiply(out, kernels.copyFloats(x), kernels.copyFloats(w), rows, inner, columns);
      const actual = kernels.floats(out, rows * columns);
      for (let row = 0; row < rows; row++) {
        for (let column = 0; column < columns; column++) {
          let sum = 0;
          for (let k = 0; k < inner; k++) sum += (x[row * inner + k] ?? 0) * (w[k * columns + column] ?? 0);
          expect(actual[row * columns + column]).toBeCloseTo(sum, 4);
        }
      }
    }),
  );
});

test('a row of a product does not depend on the other rows, to the last bit', () => {
  fc.assert(
    fc.property(product, ({ shape: { rows, inner, columns }, x, w }) => {
      kernels.clear();
      const [out, given, weights] = [kernels.allocate(rows * columns), kernels.copyFloats(x), kernels.copyFloats(w)];
      run.multiply(out, given, weights, rows, inner, columns);
      const together = Float32Array.from(kernels.floats(out, rows * columns));
      for (let row = 0; row < rows; row++) {
        run.multiply(out, given + 4 * row * inner, weights, 1, inner, columns);
        expect(kernels.floats(out, columns)).toEqual(together.subarray(row * columns, (row + 1) * columns));
      }
    }),
  );
});

test('log-probabilities and entropies are those of float64, for logits of any size', () => {
  const logits = fc.array(
    fc.integer({ min: -90_000, max: 90_000 }).map((value) => value / 1000),
    {
      minLength: 12,
      maxLength: 12,
    },
  );
  fc.assert(
    fc.property(logits, fc.integer({ min: 0, max: 11 }), fc.constantFrom(0.5, 1, 2), (row, target, temperature) => {
      kernels.clear();
      const place = kernels.copyFloats(row);
      const [logprob, entropy] = [kernels.allocate(1), kernels.allocate(1)];
      const [targets, temperatures] = [kernels.copyIntegers([target]), kernels.copyFloats([temperature])];
      run.scoreTargets(place, targets, temperatures, logprob, entropy, 1, row.length);
      const scaled = row.map((value) => value / temperature);
      const highest = Math.max(...scaled);
      const weights = scaled.map((value) => Math.exp(value - highest));
      const total = weights.reduce((sum, weight) => sum + weight, 0);
      const logprobs = scaled.map((value) => value - highest - Math.log(total));
      const expected = weights.reduce((sum, weight, at) => sum - (weight / total) * (logprobs[at] ?? 0), 0);
      const [actual = Number.NaN] = kernels.floats(logprob, 1);
      // Log-probabilities down to -360 have steps of 3e-5 in float32.
      expect(Math.abs(actual - (logprobs[target] ?? 0))).toBeLessThan(6e-5);
      expect(kernels.floats(entropy, 1)[0]).toBeCloseTo(expected, 4);
    }),
  );
});
