import type { JsonObject } from '../base/json.ts';
import type { Span } from '../spans/span.ts';

/** Lifecycle status of an attempt. `timeout` and `unresponsive` are set by the store's watchdog. */
export type AttemptStatus = 'preparing' | 'running' | 'succeeded' | 'failed' | 'unresponsive' | 'timeout';

/** The final statuses. */
export const terminalAttemptStatuses: readonly AttemptStatus[] = ['succeeded', 'failed', 'timeout'];

/** Whether the status is final. An `unresponsive` attempt can recover. */
export function isTerminalAttemptStatus(status: AttemptStatus): boolean {
  return terminalAttemptStatuses.includes(status);
}

/** One execution of a rollout. Retries create further attempts; only the latest one determines the rollout's status. */
export interface Attempt {
  /** Id of the rollout. */
  readonly rolloutId: string;
  /** Id of the attempt. */
  readonly attemptId: string;
  /** The attempt's number within its rollout, from 1. */
  readonly sequenceId: number;
  /** State of the attempt. */
  readonly status: AttemptStatus;
  /** The claiming worker. */
  readonly workerId: string | null;
  /** Unix milliseconds. */
  readonly startTimeMs: number;
  /** Unix milliseconds; set in every status but `preparing` and `running`. */
  readonly endTimeMs: number | null;
  /** Time of the last heartbeat or span, in Unix milliseconds. */
  readonly lastHeartbeatTimeMs: number | null;
  /** Metadata. */
  readonly metadata: JsonObject | null;
}

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
