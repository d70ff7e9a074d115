import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { AgentLightningError, type Clock, type JsonObject, type Store } from '@agentlightning/core';
import { systemClock } from '@agentlightning/core/internal';
import { trainerWorkerPrefix } from '@agentlightning/core/protocol';
import type { Worker } from '@agentlightning/core/store';
import { z } from 'zod';

/** The interval of lease renewals, in milliseconds. */
export const leaseIntervalMs = 2000;

/** Time for which the lease of another process is watched for a renewal, in milliseconds. */
const watchMs = 3 * leaseIntervalMs;

/** The holder of a lease, in the store. */
const holderSchema = z.object({
  lease: z.string(),
  host: z.string(),
  pid: z.int(),
  is_released: z.boolean(),
  /** Whether a client has requested the stop of the run. */
  is_stop_requested: z.boolean().default(false),
});

type Holder = z.infer<typeof holderSchema>;

/** The exclusive right of one trainer to work on a run. */
export interface RunLease {
  /**
   * Renews the lease. Call it at least every {@link leaseIntervalMs}, and before writes. No effect after its release.
   *
   * @throws AgentLightningError CONFLICT when another trainer has acquired the lease
   */
  renew(): Promise<void>;
  /** Releases the lease, unless another trainer holds it. */
  release(): Promise<void>;
}

/** Options of {@link acquireRunLease}. */
export interface LeaseOptions {
  /** @default systemClock */
  readonly clock?: Clock;
  /** Called by renewals after {@link requestStop}. @default requests are ignored */
  readonly onStopRequest?: () => void;
}

/**
 * Acquires the lease of a run. Leases are stored as worker heartbeats, and hold on every machine that shares the store. The
 * lease of a dead process is acquired immediately on the same machine, and after a few seconds on another.
 *
 * @throws AgentLightningError CONFLICT when another trainer holds the lease
 */
export async function acquireRunLease(
  store: Store,
  runId: string,
  { clock = systemClock, onStopRequest = () => undefined }: LeaseOptions = {},
): Promise<RunLease> {
  const workerId = leaseWorkerId(runId);
  const identity = { lease: randomUUID(), host: hostname(), pid: process.pid };
  const ours: Holder = { ...identity, is_released: false, is_stop_requested: false };
  const write = (holder: Holder): Promise<Worker> => store.updateWorker(workerId, holder as JsonObject);
  const first = await store.getWorker(workerId);
  if (first !== null && mayBeAlive(holderOf(first))) {
    await clock.sleep(watchMs);
    const second = await store.getWorker(workerId);
    const isRenewed = second?.lastHeartbeatTimeMs !== first.lastHeartbeatTimeMs;
    if (second !== null && isRenewed && mayBeAlive(holderOf(second))) throw leaseConflict(runId, holderOf(second));
  }
  await write(ours);
  const current = async (): Promise<Holder | null> => {
    const worker = await store.getWorker(workerId);
    return worker === null ? null : holderOf(worker);
  };
  const renew = async (): Promise<void> => {
    const holder = await current();
    if (holder?.lease !== ours.lease) throw leaseConflict(runId, holder);
    if (holder.is_stop_requested) onStopRequest();
    await write({ ...ours, is_stop_requested: holder.is_stop_requested });
  };
  let isReleased = false;
  const renewals = new Set<Promise<void>>();
  return {
    renew: async () => {
      if (isReleased) return;
      const renewal = renew();
      renewals.add(renewal);
      await renewal.finally(() => renewals.delete(renewal));
    },
    release: async () => {
      isReleased = true;
      // The write of a renewal in progress would undo the release.
      await Promise.allSettled(renewals);
      if ((await current())?.lease === ours.lease) await write({ ...ours, is_released: true });
    },
  };
}

/**
 * Requests that the trainer of a run stops, on any machine. Repeat it until the run has ended: a renewal at the same time
 * may discard the request.
 *
 * @returns whether a trainer may be working on the run
 */
export async function requestStop(store: Store, runId: string): Promise<boolean> {
  const worker = await store.getWorker(leaseWorkerId(runId));
  const holder = worker === null ? null : holderOf(worker);
  if (!mayBeAlive(holder)) return false;
  if (!holder.is_stop_requested) {
    await store.updateWorker(leaseWorkerId(runId), { ...holder, is_stop_requested: true });
  }
  return true;
}

function leaseWorkerId(runId: string): string {
  return `${trainerWorkerPrefix}${runId}`;
}

function holderOf(worker: Worker): Holder | null {
  return holderSchema.safeParse(worker.heartbeatStats).data ?? null;
}

/** Whether the holder may be alive. Only processes of this machine can be checked. */
function mayBeAlive(holder: Holder | null): holder is Holder {
  if (holder === null || holder.is_released) return false;
  return holder.host !== hostname() || isAlive(holder.pid);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // A process of another user exists, but cannot be signalled.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

function leaseConflict(runId: string, holder: Holder | null): AgentLightningError {
  const owner = holder === null ? 'another trainer' : `process ${holder.pid} on ${holder.host}`;
  return new AgentLightningError({
    code: 'CONFLICT',
    message: `run ${runId} is being trained by ${owner}`,
    remedy: 'Stop it, or wait until it has ended; then resume.',
  });
}
