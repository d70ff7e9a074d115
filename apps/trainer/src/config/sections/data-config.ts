import path from 'node:path';
import type { JsonObject } from '@agentlightning/core';
import { z } from 'zod';
import { sinceSchema } from './since.ts';
import { type StoredDataset, storedDatasetSchema } from './stored-tasks.ts';

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

/** What a training without new rollouts trains on. */
export type DataSource = string | StoredRollouts | StoredDataset;

/** Data of a training without new rollouts, with an absolute path and times. */
export type ResolvedData =
  | { readonly type: 'file'; readonly file: string }
  | { readonly type: 'dataset'; readonly dataset: string; readonly part: 'train' | 'test' }
  | {
      readonly type: 'run';
      readonly run: string;
      readonly minScore: number | null;
      readonly since: string | null;
    };

/** Validates a source of stored data. */
export const dataSchema: z.ZodType<DataSource> = z.union(
  [
    z.string().min(1),
    storedDatasetSchema,
    z.strictObject({
      run: z.string().min(1),
      minScore: z.number().exactOptional(),
      since: z.exactOptional(sinceSchema),
    }),
  ],
  { error: 'must be the path of a JSON-lines file, fromRun(…), or fromStore({ dataset: "name@1" })' },
);

/** The source with an absolute path. */
export function resolveData(data: DataSource, folder: string): ResolvedData {
  if (typeof data === 'string') return { type: 'file', file: path.resolve(folder, data) };
  if ('dataset' in data) return { type: 'dataset', dataset: data.dataset, part: data.part ?? 'train' };
  return { type: 'run', run: data.run, minScore: data.minScore ?? null, since: data.since ?? null };
}

/** A source of data as a text that identifies it, stored with a run. */
export function dataText(data: ResolvedData): string {
  return data.type === 'file' ? data.file : JSON.stringify({ ...data } satisfies JsonObject);
}
