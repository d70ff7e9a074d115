import { z } from 'zod';
import { sinceSchema } from './since.ts';

/** A version of a data set in the store. */
export interface StoredDataset {
  /** The name and version, such as `support-tasks@3`. */
  readonly dataset: string;
  /** The part of the data set. @default 'train' */
  readonly part?: 'train' | 'test';
}

/** The inputs of traces of a deployment, each once. */
export interface StoredTraces {
  /** The deployment. */
  readonly from: string;
  /**
   * Only traces that ended at or after this time: a date as text, or a duration before the start of the run, such as `7d`, `12h`
   * or `30m`. @default all
   */
  readonly since?: string;
  /** The smallest score of a trace; a label of a reviewer replaces its score. @default any */
  readonly minScore?: number;
  /** The part of the users: `test` has `testShare` of them, `train` the others. @default all users */
  readonly part?: 'train' | 'test';
  /** The share of the users in the part `test`. @default 0.2 */
  readonly testShare?: number;
  /** What is never in both parts. @default 'user' */
  readonly splitBy?: 'user' | 'conversation';
}

/** Tasks or examples in the store. */
export type StoredTasks = StoredDataset | StoredTraces;

/**
 * Tasks in the store of the run: a version of a data set, or the inputs of traces of a deployment until the first start of the run. A
 * resumed run has the same tasks; where traces were deleted since, it is refused.
 *
 * @example
 * ```ts
 * export default defineConfig({
 *   tasks: { train: fromStore({ from: 'support-agent', since: '7d', part: 'train' }), test: fromStore({ dataset: 'support-old@2' }) },
 *   agent,
 * });
 * ```
 */
export function fromStore<TSource extends StoredTasks>(source: TSource): TSource {
  return { ...source };
}

const part = z.enum(['train', 'test']);

/** Validates {@link StoredDataset}. */
export const storedDatasetSchema: z.ZodType<StoredDataset> = z.strictObject({
  dataset: z.string().regex(/^[^@\s]+@[1-9]\d*$/, { error: 'must be a name with a version, such as support-tasks@3' }),
  part: part.exactOptional(),
});

/** Validates {@link StoredTasks}. */
export const storedTasksSchema: z.ZodType<StoredTasks> = z.union([
  storedDatasetSchema,
  z.strictObject({
    from: z.string().min(1),
    since: z.exactOptional(sinceSchema),
    minScore: z.number().exactOptional(),
    part: part.exactOptional(),
    testShare: z.number().gt(0).lt(1).exactOptional(),
    splitBy: z.enum(['user', 'conversation']).exactOptional(),
  }),
]);
