import { expect } from 'vitest';

/** Expects gradients that differ by no more than 32-bit arithmetic in another order does, and that say something. */
export function expectCloseGradients(actual: Float32Array, expected: Float32Array): void {
  const scale = Math.max(...expected.map(Math.abs));
  expect(scale).toBeGreaterThan(0.01);
  const gaps = actual.map((value, index) => Math.abs(value - (expected[index] ?? Number.NaN)));
  expect(Math.max(...gaps) / scale).toBeLessThan(1e-5);
}
