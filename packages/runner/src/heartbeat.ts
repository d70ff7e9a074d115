import type { AttemptedRollout, Clock, Store } from '@agentlightning/core';
import { isTerminalAttemptStatus } from '@agentlightning/core/store';
import { AttemptAborted } from './attempt-outcome.ts';

/** What a heartbeat works with. */
export interface HeartbeatOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly rollout: AttemptedRollout;
  /** In milliseconds. */
  readonly intervalMs: number;
  /** The heartbeat ends with it. */
  readonly signal: AbortSignal;
  /** Called when the store says that the attempt is over: cancelled, or given up. */
  readonly onOver: (reason: AttemptAborted) => void;
  readonly onFailure: (error: unknown) => void;
}

/** Tells the store again and again that an attempt is alive, and learns from it when it is over. */
export async function keepAlive(options: HeartbeatOptions): Promise<void> {
  const { clock, signal, rollout, onOver, onFailure } = options;
  const intervalMs = intervalFor(rollout, options.intervalMs);
  while (!signal.aborted) {
    // The wait is cut short by the signal, which also ends the loop.
    await clock.sleep(intervalMs, signal).catch(() => {});
    if (signal.aborted) return;
    try {
      const status = await beat(options);
      if (isTerminalAttemptStatus(status) && !signal.aborted) {
        onOver(AttemptAborted.elsewhere(rollout, status));
        return;
      }
    } catch (error) {
      onFailure(error);
    }
  }
}

async function beat({
  store,
  clock,
  rollout,
}: HeartbeatOptions): Promise<Parameters<typeof isTerminalAttemptStatus>[0]> {
  const { attemptId, workerId } = rollout.attempt;
  const patch = { lastHeartbeatTimeMs: clock.now() };
  const { status } = await store.updateAttempt(rollout.rolloutId, attemptId, patch);
  if (workerId !== null) await store.updateWorker(workerId, { memory_rss_bytes: process.memoryUsage.rss() });
  return status;
}

/** Often enough that a rollout which is given up for silence never is by accident. */
function intervalFor(rollout: AttemptedRollout, intervalMs: number): number {
  const { unresponsiveMs } = rollout.config;
  return unresponsiveMs === null ? intervalMs : Math.min(intervalMs, unresponsiveMs / 3);
}
