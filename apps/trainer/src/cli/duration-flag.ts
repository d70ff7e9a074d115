import { InvalidArgumentError } from 'commander';

const unitsMs: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A parser for a flag with a duration, such as `90s`, `30m`, `12h` or `30d`; in milliseconds. */
export function durationMs(text: string): number {
  const [, amount, unit] = /^(\d+(?:\.\d+)?)([smhd])$/.exec(text) ?? [];
  const unitMs = unitsMs[unit ?? ''];
  if (amount === undefined || unitMs === undefined) {
    throw new InvalidArgumentError(`"${text}" is not a duration such as 90s, 30m, 12h or 30d.`);
  }
  return Number(amount) * unitMs;
}
