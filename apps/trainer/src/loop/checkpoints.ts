import { AgentLightningError } from '@agentlightning/core';
import { hasReachedGoal } from './reached-goal.ts';
import { type RunState, writeRunState } from './run-state.ts';
import type { TrainingSession } from './training-session.ts';
import { unlessAborted } from './unless-aborted.ts';

/**
 * Saves the model after a step when the configuration asks for it, and always after the last one.
 *
 * @param state - with the step's reward, but not its checkpoint
 * @returns the state's new checkpoint fields
 */
export async function saveCheckpoint(
  session: TrainingSession,
  state: RunState,
  step: number,
): Promise<Pick<RunState, 'checkpoint' | 'checkpoints'>> {
  const { config, model, run } = session;
  const isLast = step === config.steps || hasReachedGoal(state.rewardCurve, config.stopAtReward);
  if (step % config.checkpointEvery !== 0 && !isLast) {
    return { checkpoint: state.checkpoint, checkpoints: state.checkpoints };
  }
  const operation = await model.saveCheckpoint(`step-${String(step).padStart(6, '0')}`, { runId: run.runId, step });
  const { uri } = await unlessAborted(operation.result, session.failure);
  session.emit({ type: 'checkpointed', step, uri });
  const others = state.checkpoints.filter((saved) => saved.uri !== uri);
  return { checkpoint: { step, uri }, checkpoints: [...others, { step, uri }] };
}

/** Deletes all but the newest checkpoints, after the state that names the newest is stored. */
export async function discardOldCheckpoints(session: TrainingSession, state: RunState): Promise<RunState> {
  const surplus = state.checkpoints.slice(0, -session.config.keepCheckpoints);
  if (surplus.length === 0) return state;
  for (const { uri } of surplus) {
    await session.model.deleteCheckpoint(uri).catch((error: unknown) => {
      if (!AgentLightningError.isInstance(error) || error.code !== 'NOT_FOUND') throw error;
    });
  }
  const next = { ...state, checkpoints: state.checkpoints.slice(-session.config.keepCheckpoints) };
  await session.store.updateRun(session.run.runId, { state: writeRunState(next) });
  return next;
}
