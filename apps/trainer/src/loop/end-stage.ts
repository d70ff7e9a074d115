import type { CompletionReason } from '@agentlightning/core/protocol';
import { bestCheckpoint } from '../run/choose-checkpoint.ts';
import { stageCheckpoints, withNextStage } from '../run/run-stages.ts';
import type { RunState, SavedStep } from '../run/run-state.ts';
import { trainedPolicies } from '../session/session-policies.ts';
import type { TrainingSession } from '../session/training-session.ts';
import { discardCheckpoints, missingCheckpoint, savePolicies } from './checkpoints.ts';
import { evaluateDuring, saveState } from './run-evaluations.ts';

/**
 * Ends a stage that another one follows: selects the checkpoint that begins the next, and removes the others and the models of this
 * stage. A process that is killed before the state is saved ends the stage again.
 */
export async function endStage(session: TrainingSession, state: RunState, ended: CompletionReason): Promise<void> {
  const { config, policies } = session;
  const next = config.stages[(config.stage?.index ?? 0) + 1];
  const isMeasured = next?.from === 'best' && config.evaluation.every > 0;
  const isDue = isMeasured && !state.evaluations.some(({ step }) => step === state.finishedStep);
  const measured = isDue ? await evaluateDuring(session, state) : state;
  const best = isMeasured ? bestCheckpoint({ ...measured, checkpoints: stageCheckpoints(measured) }) : null;
  const start = best ?? measured.checkpoint;
  if (start === null) throw missingCheckpoint(session.run.runId, measured.finishedStep);
  const begun = await saveState(session, withNextStage(measured, { start, ended }));
  await discardCheckpoints(session, begun, []);
  for (const { model } of trainedPolicies(policies)) await model.unload();
}

/**
 * Saves the models of a later stage at its beginning, so that an interrupted stage begins again with a new optimizer. The copy
 * stands for the checkpoint that the stage began with, which the models cannot load.
 */
export async function saveStageStart(
  session: TrainingSession,
  state: RunState,
  start: SavedStep,
): Promise<Pick<RunState, 'checkpoint' | 'checkpoints'>> {
  const uris = await savePolicies(session, start.step);
  return {
    checkpoint: { step: state.finishedStep, uris },
    checkpoints: [...state.checkpoints, { step: start.step, uris }],
  };
}
