import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'vitest';

const file = path.join(import.meta.dirname, 'recorded-curves.json');

/** Greatest difference of a smoothed reward from the recorded one. */
const tolerance = 0.1;

/** Steps that are averaged. */
const window = 3;

/**
 * Expects the training rewards of a seeded run to be those that were recorded, within a band. `RECORD_CURVES=1` records
 * them, after a change that is meant to change them.
 *
 * @param curve the mean reward of each step
 */
export function expectRecordedCurve(name: string, curve: readonly number[]): void {
  const curves: Record<string, readonly number[]> = JSON.parse(readFileSync(file, 'utf8'));
  if (process.env['RECORD_CURVES'] === '1') {
    const recorded = { ...curves, [name]: curve.map((reward) => Number(reward.toFixed(4))) };
    writeFileSync(file, `${JSON.stringify(recorded, null, 2)}\n`);
    return;
  }
  const expected = smooth(curves[name] ?? []);
  const actual = smooth(curve);
  expect(actual).toHaveLength(expected.length);
  for (const [step, reward] of actual.entries()) {
    expect(
      Math.abs(reward - (expected[step] ?? Number.NaN)),
      `${name}, steps ${step} to ${step + window - 1}`,
    ).toBeLessThan(tolerance);
  }
}

function smooth(curve: readonly number[]): readonly number[] {
  return curve
    .slice(window - 1)
    .map((_, step) => curve.slice(step, step + window).reduce((sum, reward) => sum + reward / window, 0));
}
