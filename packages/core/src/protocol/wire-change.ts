import { z } from 'zod';
import type { AttemptStatus } from '../store/attempt.ts';
import type { RolloutStatus } from '../store/rollout-status.ts';
import type { RunStatus } from '../store/run.ts';
import type { StoreChange, WatchOptions } from '../store/store-change.ts';
import { present } from './present.ts';
import { wireAttemptStatusSchema } from './rollouts/wire-attempt.ts';
import { wireRolloutStatusSchema } from './rollouts/wire-rollout.ts';
import { wireRunStatusSchema } from './runs/wire-run.ts';

/** A store change as an event. An extension: the protocol of Agent Lightning 0.3 has no events. */
export type WireChange =
  | {
      readonly kind: 'rollout';
      readonly rollout_id: string;
      readonly run_id: string | null;
      readonly status: RolloutStatus;
    }
  | {
      readonly kind: 'attempt';
      readonly rollout_id: string;
      readonly attempt_id: string;
      readonly status: AttemptStatus;
    }
  | {
      readonly kind: 'spans';
      readonly rollout_id: string;
      readonly attempt_id: string;
      readonly count: number;
      readonly last_sequence_id: number;
    }
  | { readonly kind: 'resources'; readonly resources_id: string; readonly version: number }
  | { readonly kind: 'run'; readonly run_id: string; readonly status: RunStatus }
  | { readonly kind: 'rollout-deleted'; readonly rollout_id: string; readonly run_id: string | null }
  | { readonly kind: 'run-deleted'; readonly run_id: string }
  | { readonly kind: 'unknown' };

/** Schema of {@link WireChange}. */
export const wireChangeSchema: z.ZodType<WireChange> = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('rollout'),
    rollout_id: z.string(),
    run_id: z.string().nullable(),
    status: wireRolloutStatusSchema,
  }),
  z.object({
    kind: z.literal('attempt'),
    rollout_id: z.string(),
    attempt_id: z.string(),
    status: wireAttemptStatusSchema,
  }),
  z.object({
    kind: z.literal('spans'),
    rollout_id: z.string(),
    attempt_id: z.string(),
    count: z.int(),
    last_sequence_id: z.int(),
  }),
  z.object({ kind: z.literal('resources'), resources_id: z.string(), version: z.int() }),
  z.object({ kind: z.literal('run'), run_id: z.string(), status: wireRunStatusSchema }),
  z.object({ kind: z.literal('rollout-deleted'), rollout_id: z.string(), run_id: z.string().nullable() }),
  z.object({ kind: z.literal('run-deleted'), run_id: z.string() }),
  z.object({ kind: z.literal('unknown') }),
]);

/** Filters of a watch, as URL parameters. */
export interface WireWatchQuery {
  readonly kind_in?: readonly StoreChange['kind'][] | null | undefined;
  readonly rollout_id_in?: readonly string[] | null | undefined;
  readonly run_id?: string | null | undefined;
}

/** Schema of {@link WireWatchQuery}. */
export const wireWatchQuerySchema: z.ZodType<WireWatchQuery> = z.object({
  kind_in: z
    .array(z.enum(['rollout', 'attempt', 'spans', 'resources', 'run', 'rollout-deleted', 'run-deleted', 'unknown']))
    .nullish(),
  rollout_id_in: z.array(z.string()).nullish(),
  run_id: z.string().nullish(),
});

/** Decodes watch filters. */
export function watchQueryFromWire(wire: WireWatchQuery): WatchOptions {
  return present({ kindIn: wire.kind_in, rolloutIdIn: wire.rollout_id_in, runId: wire.run_id });
}

/** Encodes watch filters. */
export function watchQueryToWire(options: WatchOptions): WireWatchQuery {
  return present({ kind_in: options.kindIn, rollout_id_in: options.rolloutIdIn, run_id: options.runId });
}

/** Decodes a change. */
export function changeFromWire(wire: WireChange): StoreChange {
  switch (wire.kind) {
    case 'rollout':
      return { kind: wire.kind, rolloutId: wire.rollout_id, runId: wire.run_id, status: wire.status };
    case 'attempt':
      return { kind: wire.kind, rolloutId: wire.rollout_id, attemptId: wire.attempt_id, status: wire.status };
    case 'spans': {
      const { rollout_id: rolloutId, attempt_id: attemptId, count, last_sequence_id: lastSequenceId } = wire;
      return { kind: wire.kind, rolloutId, attemptId, count, lastSequenceId };
    }
    case 'resources':
      return { kind: wire.kind, resourcesId: wire.resources_id, version: wire.version };
    case 'run':
      return { kind: wire.kind, runId: wire.run_id, status: wire.status };
    case 'rollout-deleted':
      return { kind: wire.kind, rolloutId: wire.rollout_id, runId: wire.run_id };
    case 'run-deleted':
      return { kind: wire.kind, runId: wire.run_id };
    case 'unknown':
      return { kind: wire.kind };
  }
}

/** Encodes a change. */
export function changeToWire(change: StoreChange): WireChange {
  switch (change.kind) {
    case 'rollout':
      return { kind: change.kind, rollout_id: change.rolloutId, run_id: change.runId, status: change.status };
    case 'attempt':
      return { kind: change.kind, rollout_id: change.rolloutId, attempt_id: change.attemptId, status: change.status };
    case 'spans': {
      const { rolloutId: rollout_id, attemptId: attempt_id, count, lastSequenceId: last_sequence_id } = change;
      return { kind: change.kind, rollout_id, attempt_id, count, last_sequence_id };
    }
    case 'resources':
      return { kind: change.kind, resources_id: change.resourcesId, version: change.version };
    case 'run':
      return { kind: change.kind, run_id: change.runId, status: change.status };
    case 'rollout-deleted':
      return { kind: change.kind, rollout_id: change.rolloutId, run_id: change.runId };
    case 'run-deleted':
      return { kind: change.kind, run_id: change.runId };
    case 'unknown':
      return { kind: change.kind };
  }
}
