import path from 'node:path';
import type { JsonObject } from '@agentlightning/core';
import { z } from 'zod';

/** Selection of stored rollouts. */
export interface StoredRolloutOptions {
  /** The smallest reward of a rollout that is trained on; those without a reward are then excluded. @default any */
  readonly minScore?: number;
  /**
   * Only rollouts that ended at or after this time: a date as text, or a duration before the start of the run, such as `7d`,
   * `12h` or `30m`. @default all
   */
  readonly since?: string;
}

/** Rollouts of a run or a deployment in the store, as training data. */
export interface StoredRollouts extends StoredRolloutOptions {
  /** The id of the run, or the name of the deployment. */
  readonly run: string;
}

/**
 * The rollouts of a run, or of a deployment in production, as the data of a training without new rollouts. Rollouts of
 * evaluations are never trained on.
 *
 * @param run - the id of a run, or the name of a deployment
 *
 * @example
 * ```ts
 * export default defineConfig({
 *   data: fromRun('support-agent', { since: '7d' }),
 *   algorithm: { type: 'kto' },
 * });
 * ```
 */
export function fromRun(run: string, options: StoredRolloutOptions = {}): StoredRollouts {
  return { run, ...options };
}

/** Data of a training without new rollouts, with an absolute path and times. */
export type ResolvedData =
  | { readonly type: 'file'; readonly file: string }
  | {
      readonly type: 'run';
      readonly run: string;
      readonly minScore: number | null;
      readonly since: string | null;
    };

const durationPattern = /^(\d+(?:\.\d+)?)([smhd])$/;
const unitsMs: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Validates a source of stored data. */
export const dataSchema: z.ZodType<string | StoredRollouts> = z.union(
  [
    z.string().min(1),
    z.strictObject({
      run: z.string().min(1),
      minScore: z.number().exactOptional(),
      since: z
        .string()
        .refine((text) => sinceMs(text, 0) !== null, { error: 'must be a duration such as 7d, or a date' })
        .exactOptional(),
    }),
  ],
  { error: 'must be the path of a JSON-lines file or the result of fromRun(…)' },
);

/** The source with an absolute path. */
export function resolveData(data: string | StoredRollouts, folder: string): ResolvedData {
  if (typeof data === 'string') return { type: 'file', file: path.resolve(folder, data) };
  return { type: 'run', run: data.run, minScore: data.minScore ?? null, since: data.since ?? null };
}

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

/** A source of data as a text that identifies it, stored with a run. */
export function dataText(data: ResolvedData): string {
  return data.type === 'file' ? data.file : JSON.stringify({ ...data } satisfies JsonObject);
}
