import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { AgentLightningError, type Clock, type JsonObject, type Store } from '@agentlightning/core';
import { systemClock } from '@agentlightning/core/internal';
import type { Worker } from '@agentlightning/core/store';
import { z } from 'zod';

/** How often a trainer renews its lease, in milliseconds. */
export const leaseIntervalMs = 2000;

/** How long a lease that may be a dead trainer's is watched for a renewal, in milliseconds. */
const watchMs = 3 * leaseIntervalMs;

/** What a trainer says of itself in the store. */
const holderSchema = z.object({ lease: z.string(), host: z.string(), pid: z.int(), is_released: z.boolean() });

type Holder = z.infer<typeof holderSchema>;

/** The right to work on a run, which one trainer has at a time. */
export interface RunLease {
  /**
   * Shows that this trainer is alive; to be called at least every {@link leaseIntervalMs}, and before writing.
   *
   * @throws AgentLightningError CONFLICT when another trainer has taken the run over
   */
  renew(): Promise<void>;
  /** Lets the run go, unless another trainer has it. */
  release(): Promise<void>;
}

/**
 * Takes a run for this trainer. It is kept in the store as a worker's heartbeat, so it holds on every machine that
 * shares the store. A dead trainer's lease is taken at once on the same machine, and after a few seconds on another.
 *
 * @throws AgentLightningError CONFLICT when a living trainer has the run
 */
export async function takeRunLease(store: Store, runId: string, clock: Clock = systemClock): Promise<RunLease> {
  const workerId = `trainer-${runId}`;
  const ours: Holder = { lease: randomUUID(), host: hostname(), pid: process.pid, is_released: false };
  const write = (holder: Holder): Promise<Worker> => store.updateWorker(workerId, holder as JsonObject);
  const first = await store.getWorker(workerId);
  if (first !== null && mayLive(holderOf(first))) {
    await clock.sleep(watchMs);
    const second = await store.getWorker(workerId);
    const isRenewed = second?.lastHeartbeatTimeMs !== first.lastHeartbeatTimeMs;
    if (second !== null && isRenewed && mayLive(holderOf(second))) throw heldBy(runId, holderOf(second));
  }
  await write(ours);
  const current = async (): Promise<Holder | null> => {
    const worker = await store.getWorker(workerId);
    return worker === null ? null : holderOf(worker);
  };
  return {
    renew: async () => {
      const holder = await current();
      if (holder?.lease !== ours.lease) throw heldBy(runId, holder);
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

/** A process of this machine that is gone certainly lives no more. */
function mayLive(holder: Holder | null): holder is Holder {
  if (holder === null || holder.is_released) return false;
  return holder.host !== hostname() || isAlive(holder.pid);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // A process of another user may not be asked, but it is there.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

function heldBy(runId: string, holder: Holder | null): AgentLightningError {
  const who = holder === null ? 'another trainer' : `process ${holder.pid} on ${holder.host}`;
  return new AgentLightningError({
    code: 'CONFLICT',
    message: `run ${runId} is being trained by ${who}`,
    remedy: 'Stop that one first, or wait until it has ended; then resume.',
  });
}
