import { z } from 'zod';
import type { DeletionCounts } from '../store/retention.ts';

/** Ids of the rollouts to delete. An extension of the Agent Lightning 0.3 protocol. */
export const rolloutDeletionCodec: z.ZodType<readonly string[]> = z.codec(
  z.object({ rollout_ids: z.array(z.string()) }),
  z.custom<readonly string[]>(),
  { decode: ({ rollout_ids }) => rollout_ids, encode: (rolloutIds) => ({ rollout_ids: [...rolloutIds] }) },
);

/** Request to delete a run. */
export interface RunDeletion {
  readonly runId: string;
  /** Whether to delete an active run. */
  readonly force: boolean;
}

/** Codec of {@link RunDeletion}. */
export const runDeletionCodec: z.ZodType<RunDeletion> = z.codec(
  z.object({ run_id: z.string(), force: z.boolean().optional() }),
  z.custom<RunDeletion>(),
  {
    decode: ({ run_id, force = false }) => ({ runId: run_id, force }),
    encode: ({ runId, force }) => ({ run_id: runId, force }),
  },
);

/** Fields of {@link DeletionCounts}, which have the same names on the wire. */
export const deletionCountsShape: { readonly [TName in keyof DeletionCounts]: z.ZodInt } = {
  runs: z.int(),
  rollouts: z.int(),
  attempts: z.int(),
  spans: z.int(),
};

/** Schema of {@link DeletionCounts}. */
export const deletionCountsSchema: z.ZodType<DeletionCounts> = z.object(deletionCountsShape);
