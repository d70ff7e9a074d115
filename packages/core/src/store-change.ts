import type { AttemptStatus } from './attempt.ts';
import type { RolloutStatus } from './rollout-status.ts';
import type { RunStatus } from './run.ts';

/** Something that a committed write did: what waits wake up for, and what watchers of the store are told. */
export type StoreChange =
  /** A rollout is new, has another status, or another field was written. One that is queued again made the queue grow. */
  | {
      readonly kind: 'rollout';
      readonly rolloutId: string;
      readonly runId: string | null;
      readonly status: RolloutStatus;
    }
  /** An attempt is new, has another status, or another field was written. */
  | {
      readonly kind: 'attempt';
      readonly rolloutId: string;
      readonly attemptId: string;
      readonly status: AttemptStatus;
    }
  /** Spans were recorded; those of the rollout up to `lastSequenceId` can be read. */
  | {
      readonly kind: 'spans';
      readonly rolloutId: string;
      readonly attemptId: string;
      readonly count: number;
      readonly lastSequenceId: number;
    }
  /** A snapshot of resources was written, and is the latest now. */
  | { readonly kind: 'resources'; readonly resourcesId: string; readonly version: number }
  /** A run is new, was changed, or has new metrics. */
  | { readonly kind: 'run'; readonly runId: string; readonly status: RunStatus }
  /** A rollout was removed, with its attempts and spans. */
  | { readonly kind: 'rollout-deleted'; readonly rolloutId: string; readonly runId: string | null }
  /** A run was removed, with its metrics. */
  | { readonly kind: 'run-deleted'; readonly runId: string }
  /** Somebody changed something, and it is not known what: whoever waits reads again. */
  | { readonly kind: 'unknown' };

/** What to watch of a store. Filters combine: all must hold. `unknown` passes every filter. */
export interface WatchOptions {
  /** Only changes of these kinds. @default all */
  readonly kindIn?: readonly StoreChange['kind'][];
  /** Only changes of these rollouts, their attempts and their spans. @default all */
  readonly rolloutIdIn?: readonly string[];
  /** Only changes of this run, its rollouts, their attempts and their spans. @default all */
  readonly runId?: string;
  /** Ends the watch. */
  readonly signal?: AbortSignal;
}
