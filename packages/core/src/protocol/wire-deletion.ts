import { z } from 'zod';
import type { DeletionCounts, RetentionPolicy, RetentionPreview } from '../retention.ts';
import { present } from './present.ts';
import { msFromSeconds, secondsFromMs } from './wire-time.ts';

/** What a store need not keep. Deletion is ours: the protocol of Agent Lightning 0.3 has none. */
export interface WireRetentionPolicy {
  readonly older_than_seconds?: number | null | undefined;
  readonly keep_runs?: number | null | undefined;
}

/** The shape of {@link WireRetentionPolicy}. */
export const wireRetentionPolicySchema: z.ZodType<WireRetentionPolicy> = z.object({
  older_than_seconds: z.number().nullish(),
  keep_runs: z.number().nullish(),
});

/** What a store need not keep, from the wire. */
export function retentionPolicyFromWire(wire: WireRetentionPolicy): RetentionPolicy {
  const { older_than_seconds: seconds, keep_runs: keepRuns } = wire;
  return present({ olderThanMs: typeof seconds === 'number' ? msFromSeconds(seconds) : null, keepRuns });
}

/** What a store need not keep, for the wire. */
export function retentionPolicyToWire({ olderThanMs, keepRuns }: RetentionPolicy): WireRetentionPolicy {
  return {
    older_than_seconds: olderThanMs === undefined ? undefined : secondsFromMs(olderThanMs),
    keep_runs: keepRuns,
  };
}

/** Rollouts to delete. */
export interface WireRolloutDeletion {
  readonly rollout_ids: readonly string[];
}

/** The shape of {@link WireRolloutDeletion}. */
export const wireRolloutDeletionSchema: z.ZodType<WireRolloutDeletion> = z.object({
  rollout_ids: z.array(z.string()),
});

/** A run to delete. */
export interface WireRunDeletion {
  readonly run_id: string;
  readonly force?: boolean | undefined;
}

/** The shape of {@link WireRunDeletion}. */
export const wireRunDeletionSchema: z.ZodType<WireRunDeletion> = z.object({
  run_id: z.string(),
  force: z.boolean().optional(),
});

const deletionCountsShape = { runs: z.int(), rollouts: z.int(), attempts: z.int(), spans: z.int() };

/** The shape of {@link DeletionCounts}, whose names are the same on the wire. */
export const wireDeletionCountsSchema: z.ZodType<DeletionCounts> = z.object(deletionCountsShape);

/** A retention preview on the wire. */
export interface WireRetentionPreview extends DeletionCounts {
  readonly run_ids: readonly string[];
}

/** The shape of {@link WireRetentionPreview}. */
export const wireRetentionPreviewSchema: z.ZodType<WireRetentionPreview> = z.object({
  ...deletionCountsShape,
  run_ids: z.array(z.string()),
});

/** A retention preview, for the wire. */
export function retentionPreviewToWire({ runIds, ...counts }: RetentionPreview): WireRetentionPreview {
  return { ...counts, run_ids: runIds };
}

/** A retention preview, from the wire. */
export function retentionPreviewFromWire({ run_ids, ...counts }: WireRetentionPreview): RetentionPreview {
  return { ...counts, runIds: run_ids };
}
