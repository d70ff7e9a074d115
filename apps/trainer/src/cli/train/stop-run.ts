import { AgentLightningError, type Store } from '@agentlightning/core';
import { systemClock } from '@agentlightning/core/internal';
import type { RunStatus } from '@agentlightning/core/store';
import { requestStop } from '../../run/run-lease.ts';
import { writeOutcome } from '../error-text.ts';
import { openExistingStore } from '../open-existing-store.ts';

/** The flags of `agl stop`. */
export interface StopFlags {
  readonly store: string;
  /** Milliseconds. */
  readonly wait: number;
  readonly json?: boolean;
}

/** The time between two checks, in milliseconds. */
const intervalMs = 250;

/** Maximum time without a trainer while a run is being resumed, in milliseconds. */
const restartMs = 5000;

/**
 * Stops the trainer of a run, and waits until it has ended.
 *
 * @throws AgentLightningError NOT_FOUND for an unknown run, TIMEOUT when the trainer does not end in time
 */
export async function stopRun(runId: string, flags: StopFlags): Promise<void> {
  const store = await openExistingStore(flags.store);
  try {
    const { status, wasRunning } = await stopAndWait(store, runId, flags.wait);
    const text = wasRunning ? `Run ${runId} has ended: ${status}.` : `No trainer works on run ${runId}: ${status}.`;
    writeOutcome(flags, { record: { type: 'stopped', runId, status, wasRunning }, text });
  } finally {
    await store.close();
  }
}

async function stopAndWait(
  store: Store,
  runId: string,
  waitMs: number,
): Promise<{ readonly status: RunStatus; readonly wasRunning: boolean }> {
  const startMs = systemClock.now();
  let wasRunning = false;
  for (;;) {
    const { status } = await store.getRun(runId);
    const hasTrainer = await requestStop(store, runId);
    wasRunning ||= hasTrainer;
    const elapsedMs = systemClock.now() - startMs;
    if (!hasTrainer && (status !== 'running' || elapsedMs >= restartMs)) return { status, wasRunning };
    if (elapsedMs >= waitMs) throw stillRunning(runId, waitMs);
    await systemClock.sleep(intervalMs);
  }
}

function stillRunning(runId: string, waitMs: number): AgentLightningError {
  return new AgentLightningError({
    code: 'TIMEOUT',
    message: `run ${runId} has not stopped within ${waitMs / 1000} s`,
    remedy: 'It stops after the operation in progress: wait for it, or end the process of the trainer.',
  });
}
