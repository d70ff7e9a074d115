import { AgentLightningError } from '@agentlightning/core';
import { cancelUnfinished } from '../rollouts/collect-rollouts.ts';
import type { EvaluationSession } from './evaluation-session.ts';

/**
 * Runs the work of a session. When it fails, unfinished rollouts are cancelled and the run has the status `failed`, or
 * `stopped` after an abort.
 *
 * @throws AgentLightningError CANCELLED when the run was stopped; else the error of the work
 */
export async function recordEnd<TResult>(
  { store, run, signal }: Pick<EvaluationSession, 'store' | 'run' | 'signal'>,
  work: () => Promise<TResult>,
): Promise<TResult> {
  try {
    return await work();
  } catch (error) {
    const isStopped = signal.aborted && !AgentLightningError.isInstance(signal.reason);
    // The error that ended the run is the one to report.
    await cancelUnfinished(store, { runId: run.runId }).catch(() => undefined);
    await store.updateRun(run.runId, { status: isStopped ? 'stopped' : 'failed' }).catch(() => undefined);
    if (!isStopped) throw error;
    throw new AgentLightningError({ code: 'CANCELLED', message: `run ${run.runId} was stopped`, cause: error });
  }
}
