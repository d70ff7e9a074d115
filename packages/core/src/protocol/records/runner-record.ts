import * as z from 'zod';
import { type Worker, workerLeaseKey } from '../../store/worker.ts';

/** A registered runner with its load, as the store records it. */
export interface RunnerRecord {
  readonly workerId: string;
  readonly version: string;
  readonly host: string;
  readonly pid: number;
  /** The run whose rollouts it claims; null for any run. */
  readonly runId: string | null;
  /** `lost`: its heartbeats have ended, and its attempts have returned to the queue. */
  readonly state: 'running' | 'draining' | 'lost';
  /** Number of attempts that it runs, and the most at a time. */
  readonly running: number;
  readonly concurrency: number;
  /** Number of worker processes. */
  readonly processes: number;
  /** Resident memory of all its processes, in bytes. */
  readonly memoryBytes: number;
  /** Unix milliseconds. */
  readonly lastHeartbeatTimeMs: number;
}

// Marked as pure: a bundle that does not read runners leaves out the schema, and zod with it.
const statisticsSchema = /* @__PURE__ */ (() =>
  z.object({
    kind: z.literal('runner'),
    version: z.string(),
    host: z.string(),
    pid: z.int(),
    run_id: z.string().nullable(),
    state: z.enum(['running', 'draining']),
    running: z.int(),
    concurrency: z.int(),
    processes: z.int(),
    memory_rss_bytes: z.number(),
    [workerLeaseKey]: z.number().positive(),
  }))();

/** Reads the record of a runner; null for another worker, and for a runner that has left. */
export function readRunner(
  { workerId, heartbeatStats, lastHeartbeatTimeMs }: Worker,
  nowMs: number,
): RunnerRecord | null {
  const { data } = statisticsSchema.safeParse(heartbeatStats);
  if (data === undefined || lastHeartbeatTimeMs === null) return null;
  const { version, host, pid, run_id: runId, running, concurrency, processes, memory_rss_bytes: memoryBytes } = data;
  const state = lastHeartbeatTimeMs + data[workerLeaseKey] <= nowMs ? 'lost' : data.state;
  const load = { state, running, concurrency, processes, memoryBytes } as const;
  return { workerId, version, host, pid, runId, ...load, lastHeartbeatTimeMs };
}

/** Maximum difference between the clocks of a reader and of a store, in milliseconds. */
const maxSkewMs = 30_000;

/**
 * The time of a store, as its workers show it: heartbeats have the store's time, and the clock of the reader may be ahead or
 * behind. It is never later than the store's time, as long as the clocks differ by at most 30 seconds.
 */
export function storeTimeOf(workers: readonly Worker[], readerNowMs: number): number {
  const heartbeats = workers.map(({ lastHeartbeatTimeMs }) => lastHeartbeatTimeMs ?? 0);
  return heartbeats.reduce((latest, time) => Math.max(latest, time), readerNowMs - maxSkewMs);
}
