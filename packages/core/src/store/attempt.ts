import type { JsonObject } from '../base/json.ts';

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
