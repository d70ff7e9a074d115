import { hostname } from 'node:os';
import type { JsonObject } from '@agentlightning/core';
import { type Worker, workerLeaseKey } from '@agentlightning/core/store';
import { z } from 'zod';
import { packageVersion } from '../package-version.ts';

/** A registered runner, as the store records it. */
export interface RunnerRecord {
  readonly runnerId: string;
  readonly version: string;
  readonly host: string;
  readonly pid: number;
  /** The run whose rollouts it claims; null for any run. */
  readonly runId: string | null;
  /** `lost`: its heartbeats have ended, and its attempts have returned to the queue. */
  readonly state: 'running' | 'draining' | 'lost';
  /** The number of attempts that it runs, and the most at a time. */
  readonly running: number;
  readonly concurrency: number;
  /** The number of worker processes. */
  readonly processes: number;
  /** The resident memory of all its processes, in bytes. */
  readonly memoryBytes: number;
  /** Unix milliseconds. */
  readonly lastHeartbeatTimeMs: number;
}

/** The constant part of a runner's statistics; its worker pool adds the load. */
export function runnerStatistics(runId: string | null): JsonObject {
  return { kind: 'runner', version: packageVersion(), host: hostname(), pid: process.pid, run_id: runId };
}

const statisticsSchema = z.object({
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
});

/** Reads the record of a runner; null for another worker, and for a runner that has left. */
export function readRunner(
  { workerId, heartbeatStats, lastHeartbeatTimeMs }: Worker,
  nowMs: number,
): RunnerRecord | null {
  const { data } = statisticsSchema.safeParse(heartbeatStats);
  if (data === undefined || lastHeartbeatTimeMs === null) return null;
  const { version, host, pid, run_id, running, concurrency, processes, memory_rss_bytes } = data;
  const isLost = lastHeartbeatTimeMs + data[workerLeaseKey] <= nowMs;
  return {
    runnerId: workerId,
    version,
    host,
    pid,
    runId: run_id,
    state: isLost ? 'lost' : data.state,
    running,
    concurrency,
    processes,
    memoryBytes: memory_rss_bytes,
    lastHeartbeatTimeMs,
  };
}
