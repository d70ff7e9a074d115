import type { Attempt, Rollout, Run } from '@agentlightning/core';
import {
  attemptCodec,
  metricPointCodec,
  resourcesSnapshotCodec,
  rolloutCodec,
  runCodec,
  type WireSpan,
  wireSpanSchema,
} from '@agentlightning/core/protocol';
import type { MetricPoint, ResourcesSnapshot } from '@agentlightning/core/store';
import { z } from 'zod';

/** What the first line of an archive says it is. */
export const archiveFormat = 'agentlightning-run';

/** The version of the format that is written; older ones are read. */
export const archiveVersion = 1;

/**
 * A line of a run's archive. Header and end once, the run after the header, then metrics, then each rollout
 * after the resources it needs, followed by its attempts and then its spans.
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
  /** `last_sequence_id`: the last number that was given to a span of it. */
  | { readonly kind: 'rollout'; readonly rollout: Rollout; readonly last_sequence_id: number }
  /** `is_counted`: whether it uses up one of the rollout's attempts. */
  | { readonly kind: 'attempt'; readonly attempt: Attempt; readonly is_counted: boolean }
  | { readonly kind: 'span'; readonly span: WireSpan }
  /** `lines` before this one, and the SHA-256 of them with their line ends, in hexadecimal digits. */
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
  z.object({ kind: z.literal('span'), span: wireSpanSchema }),
  z.object({ kind: z.literal('end'), lines: z.int().min(1), sha256: z.string() }),
]);
