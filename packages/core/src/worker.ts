import type { JsonObject } from './json.ts';

/** Whether a runner's worker is at work. */
export type WorkerStatus = 'idle' | 'busy' | 'unknown';

/** One worker of a runner, as the store knows it. Times are Unix milliseconds. */
export interface Worker {
  readonly workerId: string;
  readonly status: WorkerStatus;
  /** What the worker last said of itself: memory, load, versions. */
  readonly heartbeatStats: JsonObject | null;
  readonly lastHeartbeatTimeMs: number | null;
  readonly lastDequeueTimeMs: number | null;
  readonly lastBusyTimeMs: number | null;
  readonly lastIdleTimeMs: number | null;
  readonly currentRolloutId: string | null;
  readonly currentAttemptId: string | null;
}
