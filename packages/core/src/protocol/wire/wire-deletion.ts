import * as z from 'zod';
import type { DeletionCounts, RetentionPolicy, RetentionPreview } from '../../store/retention.ts';
import { fieldCodec, optionsCodec, seconds } from './wire-fields.ts';

/** Ids of the rollouts to delete. Deletion is an extension of the Agent Lightning 0.3 protocol. */
export const rolloutDeletionCodec: z.ZodType<readonly string[]> = fieldCodec('rollout_ids', z.array(z.string()));

/** The run to delete; `force` deletes an active run. */
export type RunDeletion = readonly [runId: string, options?: { readonly force?: boolean }];

/** Codec of {@link RunDeletion}. */
export const runDeletionCodec: z.ZodType<RunDeletion> = z.codec(
  z.object({ run_id: z.string(), force: z.boolean().optional() }),
  z.custom<RunDeletion>(),
  {
    decode: ({ run_id, force = false }): RunDeletion => [run_id, { force }],
    encode: ([runId, { force = false } = {}]) => ({ run_id: runId, force }),
  },
);

const counts = { runs: z.int(), rollouts: z.int(), attempts: z.int(), spans: z.int() };

/** Numbers of deleted records. */
export const deletionCountsCodec: z.ZodType<DeletionCounts> = z.object(counts);

/** A retention policy on the wire. */
export const retentionPolicyCodec: z.ZodType<RetentionPolicy> = optionsCodec<RetentionPolicy>({
  olderThanMs: ['older_than_seconds', seconds.nullish()],
  keepRuns: ['keep_runs', z.number().nullish()],
  traces: ['traces_older_than_seconds', z.record(z.string(), seconds).nullish()],
});

/** A retention preview on the wire. */
export const retentionPreviewCodec: z.ZodType<RetentionPreview> = z.codec(
  z.object({ ...counts, run_ids: z.array(z.string()) }),
  z.custom<RetentionPreview>(),
  {
    decode: ({ run_ids, ...deleted }) => ({ ...deleted, runIds: run_ids }),
    encode: ({ runIds, ...deleted }) => ({ ...deleted, run_ids: [...runIds] }),
  },
);
