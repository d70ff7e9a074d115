import { z } from 'zod';

/** Validates the text of `since`. */
export const sinceSchema: z.ZodType<string> = z
  .string()
  .refine((text) => sinceMs(text, 0) !== null, { error: 'must be a duration such as 7d, or a date' });

const durationPattern = /^(\d+(?:\.\d+)?)([smhd])$/;
const unitsMs: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * The time that the text of `since` means.
 *
 * @param untilMs - the time that a duration counts back from
 * @returns null for text that is neither a duration nor a date
 */
export function sinceMs(text: string, untilMs: number): number | null {
  const [, amount, unit] = durationPattern.exec(text) ?? [];
  if (amount !== undefined) return untilMs - Number(amount) * (unitsMs[unit ?? ''] ?? 0);
  const date = Date.parse(text);
  return Number.isNaN(date) ? null : date;
}
