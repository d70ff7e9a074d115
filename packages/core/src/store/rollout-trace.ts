import type { Span } from '../spans/span.ts';
import type { Attempt } from './attempt.ts';

/** The latest attempt of a rollout, with its spans. */
export interface RolloutTrace {
  /** Id of the rollout. */
  readonly rolloutId: string;
  /** Null for a rollout that was never claimed. */
  readonly attempt: Attempt | null;
  /** In the order of their sequence ids. */
  readonly spans: readonly Span[];
}

/** The maximum number of rollouts in one {@link Store.readTraces}. */
export const maxTraceRollouts: number = 1000;
