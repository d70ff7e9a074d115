import { expect } from 'vitest';

/** Expects gradients within 32-bit rounding of each other and nonzero. */
export function expectCloseGradients(actual: Float32Array, expected: Float32Array): void {
  const scale = Math.max(...expected.map(Math.abs));
  expect(scale).toBeGreaterThan(0.01);
  const gaps = actual.map((value, index) => Math.abs(value - (expected[index] ?? Number.NaN)));
  expect(Math.max(...gaps) / scale).toBeLessThan(1e-5);
}
