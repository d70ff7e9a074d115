import type { AttemptStatus } from './attempt.ts';
import type { RolloutStatus } from './rollout-status.ts';
import type { RunStatus } from './run.ts';

/** Effect of a committed write: wakes pending waits and is sent to watchers. */
export type StoreChange =
  /** A rollout was created or changed. A requeued rollout also extends the queue. */
  | {
      readonly kind: 'rollout';
      readonly rolloutId: string;
      readonly runId: string | null;
      readonly status: RolloutStatus;
    }
  /** An attempt was created or changed. */
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
  /** A resources snapshot was written and is now the latest. */
  | { readonly kind: 'resources'; readonly resourcesId: string; readonly version: number }
  /** A run was created or changed, or has new metrics. */
  | { readonly kind: 'run'; readonly runId: string; readonly status: RunStatus }
  /** A rollout was deleted, with its attempts and spans. */
  | { readonly kind: 'rollout-deleted'; readonly rolloutId: string; readonly runId: string | null }
  /** A run was deleted, with its metrics. */
  | { readonly kind: 'run-deleted'; readonly runId: string }
  /** Unknown changes: watchers must read the state again. */
  | { readonly kind: 'unknown' };

/** Filters of a watch. All must match. `unknown` passes every filter. */
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
