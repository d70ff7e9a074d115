import type { Attempt, Rollout, Run, Span } from '@agentlightning/core';
import {
  attemptCodec,
  metricPointCodec,
  recordedSpanCodec,
  resourcesSnapshotCodec,
  rolloutCodec,
  runCodec,
} from '@agentlightning/core/protocol';
import type { MetricPoint, ResourcesSnapshot } from '@agentlightning/core/store';
import { z } from 'zod';

/** The format name in the header of an archive. */
export const archiveFormat = 'agentlightning-run';

/** The format version of new archives; older versions can be read. */
export const archiveVersion = 1;

/**
 * A line of a run archive. The order is: header, run, metrics; then each rollout after its resources, followed by
 * its attempts and its spans; end.
 */
export type ArchiveRecord =
  | {
      readonly kind: 'header';
      readonly format: typeof archiveFormat;
      readonly version: number;
      readonly run_id: string;
    }
  | { readonly kind: 'run'; readonly run: Run }
  | { readonly kind: 'metrics'; readonly metrics: MetricPoint }
  | { readonly kind: 'resources'; readonly resources: ResourcesSnapshot }
  /** `last_sequence_id`: the last assigned sequence id of its spans. */
  | { readonly kind: 'rollout'; readonly rollout: Rollout; readonly last_sequence_id: number }
  /** `is_counted`: whether it counts towards the rollout's `maxAttempts`. */
  | { readonly kind: 'attempt'; readonly attempt: Attempt; readonly is_counted: boolean }
  | { readonly kind: 'span'; readonly span: Span }
  /** The number of `lines` before this one and their SHA-256 (with line ends) in hexadecimal digits. */
  | { readonly kind: 'end'; readonly lines: number; readonly sha256: string };

/** The shape of {@link ArchiveRecord}. */
export const archiveRecordSchema: z.ZodType<ArchiveRecord> = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('header'),
    format: z.literal(archiveFormat),
    version: z.int().min(1),
    run_id: z.string(),
  }),
  z.object({ kind: z.literal('run'), run: runCodec }),
  z.object({ kind: z.literal('metrics'), metrics: metricPointCodec }),
  z.object({ kind: z.literal('resources'), resources: resourcesSnapshotCodec }),
  z.object({ kind: z.literal('rollout'), rollout: rolloutCodec, last_sequence_id: z.int().min(0) }),
  z.object({ kind: z.literal('attempt'), attempt: attemptCodec, is_counted: z.boolean() }),
  z.object({ kind: z.literal('span'), span: recordedSpanCodec }),
  z.object({ kind: z.literal('end'), lines: z.int().min(1), sha256: z.string() }),
]);
