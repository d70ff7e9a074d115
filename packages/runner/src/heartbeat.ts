import type { Clock } from '@agentlightning/core';
import { type AttemptedRollout, isTerminalAttemptStatus } from '@agentlightning/core/store';
import { AttemptAborted } from './attempt-outcome.ts';
import type { RunnerStore } from './runner-store.ts';

/** Options of {@link keepAlive}. */
export interface HeartbeatOptions {
  readonly store: RunnerStore;
  readonly clock: Clock;
  readonly rollout: AttemptedRollout;
  /** In milliseconds. */
  readonly intervalMs: number;
  /** Stops the heartbeat. */
  readonly signal: AbortSignal;
  /** Called when the store has ended the attempt. */
  readonly onOver: (reason: AttemptAborted) => void;
  readonly onFailure: (error: unknown) => void;
}

/** Sends heartbeats for an attempt, and reports its end in the store. */
export async function keepAlive(options: HeartbeatOptions): Promise<void> {
  const { clock, signal, rollout, onOver, onFailure } = options;
  const intervalMs = intervalFor(rollout, options.intervalMs);
  while (!signal.aborted) {
    // The signal interrupts the delay and ends the loop.
    await clock.sleep(intervalMs, signal).catch(() => {});
    if (signal.aborted) return;
    try {
      const status = await beat(options);
      if (isTerminalAttemptStatus(status) && !signal.aborted) {
        onOver(AttemptAborted.endedInStore(rollout, status));
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
  if (workerId !== null) await store.updateWorker?.(workerId, { memory_rss_bytes: process.memoryUsage.rss() });
  return status;
}

/** The interval: short enough that the store does not consider the attempt unresponsive. */
function intervalFor(rollout: AttemptedRollout, intervalMs: number): number {
  const { unresponsiveMs } = rollout.config;
  return unresponsiveMs === null ? intervalMs : Math.min(intervalMs, unresponsiveMs / 3);
}
