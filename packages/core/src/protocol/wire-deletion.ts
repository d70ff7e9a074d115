import { z } from 'zod';
import type { DeletionCounts } from '../retention.ts';

/** The rollouts to delete, by their ids. The protocol of Agent Lightning 0.3 has no deletion. */
export const rolloutDeletionCodec: z.ZodType<readonly string[]> = z.codec(
  z.object({ rollout_ids: z.array(z.string()) }),
  z.custom<readonly string[]>(),
  { decode: ({ rollout_ids }) => rollout_ids, encode: (rolloutIds) => ({ rollout_ids: [...rolloutIds] }) },
);

/** A run to delete. */
export interface RunDeletion {
  readonly runId: string;
  /** Whether it is deleted while it is running. */
  readonly force: boolean;
}

/** A run to delete, on the wire. */
export const runDeletionCodec: z.ZodType<RunDeletion> = z.codec(
  z.object({ run_id: z.string(), force: z.boolean().optional() }),
  z.custom<RunDeletion>(),
  {
    decode: ({ run_id, force = false }) => ({ runId: run_id, force }),
    encode: ({ runId, force }) => ({ run_id: runId, force }),
  },
);

/** The fields of {@link DeletionCounts}, whose names are the same on the wire. */
export const deletionCountsShape: { readonly [TName in keyof DeletionCounts]: z.ZodInt } = {
  runs: z.int(),
  rollouts: z.int(),
  attempts: z.int(),
  spans: z.int(),
};

/** The numbers of deleted records, on the wire and everywhere else. */
export const deletionCountsSchema: z.ZodType<DeletionCounts> = z.object(deletionCountsShape);
