import type { JsonObject } from './json.ts';

/** Where an attempt is in its life. `timeout` and `unresponsive` are set by the store's watchdog. */
export type AttemptStatus = 'preparing' | 'running' | 'succeeded' | 'failed' | 'unresponsive' | 'timeout';

/** The statuses in which nothing more is expected from the attempt's runner. */
export const terminalAttemptStatuses: readonly AttemptStatus[] = ['succeeded', 'failed', 'timeout'];

/** Whether an attempt with this status is over for good. An `unresponsive` one may still come back. */
export function isTerminalAttemptStatus(status: AttemptStatus): boolean {
  return terminalAttemptStatuses.includes(status);
}

/** One try at a rollout. Retries make more attempts; only the latest one decides the rollout's status. */
export interface Attempt {
  readonly rolloutId: string;
  readonly attemptId: string;
  /** The attempt's number within its rollout, from 1. */
  readonly sequenceId: number;
  readonly status: AttemptStatus;
  /** The runner that works on it. */
  readonly workerId: string | null;
  /** Unix milliseconds. */
  readonly startTimeMs: number;
  /** Unix milliseconds; set in every status but `preparing` and `running`. */
  readonly endTimeMs: number | null;
  /** When the runner, or a span of the attempt, was last heard of, in Unix milliseconds. */
  readonly lastHeartbeatTimeMs: number | null;
  readonly metadata: JsonObject | null;
}
