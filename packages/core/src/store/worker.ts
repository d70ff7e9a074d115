import type { JsonObject } from '../base/json.ts';

/** Activity of a worker. */
export type WorkerStatus = 'idle' | 'busy' | 'unknown';

/**
 * The field of a worker's statistics with its lease in milliseconds: a worker that sends no heartbeat for this long is lost.
 * Its open attempts return to the queue without being counted, and it is deleted a minute later. 0 deletes it immediately.
 */
export const workerLeaseKey = 'lease_ms';

/** One worker of a runner, as recorded in the store. Times are Unix milliseconds. */
export interface Worker {
  /** Id of the worker. */
  readonly workerId: string;
  /** State of the worker. */
  readonly status: WorkerStatus;
  /** Latest statistics reported by the worker: memory, load, versions. */
  readonly heartbeatStats: JsonObject | null;
  /** Time of the last heartbeat. */
  readonly lastHeartbeatTimeMs: number | null;
  /** Time of the last claim. */
  readonly lastDequeueTimeMs: number | null;
  /** Time at which it last became busy. */
  readonly lastBusyTimeMs: number | null;
  /** Time at which it last became idle. */
  readonly lastIdleTimeMs: number | null;
  /** The rollout that it runs; null without one. */
  readonly currentRolloutId: string | null;
  /** The attempt that it runs; null without one. */
  readonly currentAttemptId: string | null;
}

/** The start of the worker id of a trainer, followed by its run. Its record needs the right `project:write`. */
export const trainerWorkerPrefix = 'trainer-';
