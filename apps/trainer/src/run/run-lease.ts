import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { AgentLightningError, type Clock, type JsonObject, type Store } from '@agentlightning/core';
import { systemClock } from '@agentlightning/core/internal';
import type { Worker } from '@agentlightning/core/store';
import { z } from 'zod';

/** The interval of lease renewals, in milliseconds. */
export const leaseIntervalMs = 2000;

/** How long a lease of another process is watched for a renewal, in milliseconds. */
const watchMs = 3 * leaseIntervalMs;

/** The holder of a lease, in the store. */
const holderSchema = z.object({ lease: z.string(), host: z.string(), pid: z.int(), is_released: z.boolean() });

type Holder = z.infer<typeof holderSchema>;

/** The exclusive right of one trainer to work on a run. */
export interface RunLease {
  /**
   * Renews the lease. Call it at least every {@link leaseIntervalMs}, and before writes.
   *
   * @throws AgentLightningError CONFLICT when another trainer has acquired the lease
   */
  renew(): Promise<void>;
  /** Releases the lease, unless another trainer holds it. */
  release(): Promise<void>;
}

/**
 * Acquires the lease of a run. Leases are stored as worker heartbeats, and hold on every machine that shares the store. The
 * lease of a dead process is acquired immediately on the same machine, and after a few seconds on another.
 *
 * @throws AgentLightningError CONFLICT when another trainer holds the lease
 */
export async function acquireRunLease(store: Store, runId: string, clock: Clock = systemClock): Promise<RunLease> {
  const workerId = `trainer-${runId}`;
  const ours: Holder = { lease: randomUUID(), host: hostname(), pid: process.pid, is_released: false };
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
  return {
    renew: async () => {
      const holder = await current();
      if (holder?.lease !== ours.lease) throw leaseConflict(runId, holder);
      await write(ours);
    },
    release: async () => {
      if ((await current())?.lease === ours.lease) await write({ ...ours, is_released: true });
    },
  };
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
