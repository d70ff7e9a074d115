import { readRunner, workerLeaseKey } from '@agentlightning/core/protocol';
import type { Worker } from '@agentlightning/core/store';
import { z } from 'zod';
import type { GatewayView, OtherWorkerView, RunnerView, WorkerList } from '../api/store-views.ts';

const upstream = z.object({
  id: z.string(),
  model: z.string().nullable(),
  up: z.boolean(),
  in_flight: z.number(),
  queued: z.number(),
  token_ids: z.string(),
  last_failure: z.string().nullable(),
});

const gateway = z.object({
  kind: z.literal('gateway'),
  version: z.string(),
  host: z.string(),
  pid: z.number(),
  run_id: z.string().nullable(),
  [workerLeaseKey]: z.number(),
  url: z.string(),
  in_flight: z.number(),
  is_paused: z.boolean(),
  upstreams: z.array(upstream),
});

/** The workers of a store by kind. Workers whose statistics cannot be read are among the others. */
export function workerList(workers: readonly Worker[], nowMs: number): WorkerList {
  const runners: RunnerView[] = [];
  const gateways: GatewayView[] = [];
  const others: OtherWorkerView[] = [];
  for (const worker of workers) {
    const asRunner = readRunner(worker, nowMs);
    const asGateway = gatewayView(worker, nowMs);
    if (asRunner !== null) runners.push(asRunner);
    else if (asGateway !== null) gateways.push(asGateway);
    else others.push(otherView(worker, nowMs));
  }
  return { runners, gateways, others, nowMs };
}

function otherView(worker: Worker, nowMs: number): OtherWorkerView {
  const isEnded = worker.heartbeatStats?.['is_released'] === true;
  return { ...worker, isLost: isLost(worker, leaseOf(worker), nowMs), isEnded };
}

function gatewayView(worker: Worker, nowMs: number): GatewayView | null {
  const { data } = gateway.safeParse(worker.heartbeatStats);
  if (data === undefined) return null;
  const { version, host, pid, url, run_id: runId, in_flight: inFlight, is_paused: isPaused } = data;
  return {
    workerId: worker.workerId,
    version,
    host,
    pid,
    url,
    runId,
    isLost: isLost(worker, data[workerLeaseKey], nowMs),
    isPaused,
    inFlight,
    upstreams: data.upstreams.map(({ id, model, up, in_flight, queued, token_ids, last_failure }) => ({
      id,
      model,
      isUp: up,
      inFlight: in_flight,
      queued,
      tokenIds: token_ids,
      lastFailure: last_failure,
    })),
    lastHeartbeatTimeMs: worker.lastHeartbeatTimeMs,
  };
}

/** The lease of a worker that reports none, in milliseconds. */
const defaultLeaseMs = 60_000;

function leaseOf({ heartbeatStats }: Worker): number {
  const lease = heartbeatStats?.[workerLeaseKey];
  return typeof lease === 'number' ? lease : defaultLeaseMs;
}

function isLost({ lastHeartbeatTimeMs }: Worker, leaseMs: number, nowMs: number): boolean {
  return lastHeartbeatTimeMs === null || lastHeartbeatTimeMs + leaseMs <= nowMs;
}
