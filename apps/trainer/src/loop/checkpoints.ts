import { AgentLightningError } from '@agentlightning/core';
import { traceActivity } from '@agentlightning/core/internal';
import { policyKey } from '../config/policies.ts';
import type { CheckpointsSettings } from '../config/sections/checkpoints-config.ts';
import { bestCheckpoint } from '../run/choose-checkpoint.ts';
import { completionReason } from '../run/completion-reason.ts';
import { findDeployedSteps } from '../run/find-deployments.ts';
import { type RunState, type SavedStep, writeState } from '../run/run-state.ts';
import { type TrainedPolicy, trainedPolicies } from '../session/session-policies.ts';
import type { TrainingSession } from '../session/training-session.ts';
import { endsWithBest } from './run-evaluations.ts';

/**
 * Returns the result of the work, or throws the signal's reason when the signal aborts first. The work is not cancelled;
 * its result is ignored.
 */
export async function unlessAborted<TResult>(work: Promise<TResult>, signal: AbortSignal): Promise<TResult> {
  let onAbort = (): void => undefined;
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/**
 * Saves the models after every `checkpoints.every` steps, before evaluations, and after the last step.
 *
 * @param state - the state with the step's reward, without its checkpoint
 * @returns the new checkpoint fields of the state
 */
export async function saveCheckpoint(
  session: TrainingSession,
  state: RunState,
  step: number,
): Promise<Pick<RunState, 'checkpoint' | 'checkpoints'>> {
  const { config } = session;
  const isLast = completionReason({ ...state, finishedStep: step }, config) !== null;
  // Every evaluated step may be the final one.
  const isEvaluated = endsWithBest(config) && step % config.evaluation.every === 0;
  if (step % config.checkpoints.every !== 0 && !isEvaluated && !isLast) {
    return { checkpoint: state.checkpoint, checkpoints: state.checkpoints };
  }
  const uris = await savePolicies(session, step);
  const others = state.checkpoints.filter((saved) => saved.step !== step);
  return { checkpoint: { step, uris }, checkpoints: [...others, { step, uris }] };
}

/** Saves all trained models. @returns the URIs by policy */
export async function savePolicies(session: TrainingSession, step: number): Promise<SavedStep['uris']> {
  const { policies } = session;
  const saved = await traceActivity('train.checkpoint', { step }, () =>
    Promise.all(trainedPolicies(policies).map((policy) => savePolicy(session, policy, step))),
  );
  return Object.fromEntries(saved);
}

/** Loads the checkpoint of an earlier step into all trained models, which then serve its weights. */
export async function loadCheckpoint(session: TrainingSession, state: RunState, step: number): Promise<void> {
  const saved = state.checkpoints.find((checkpoint) => checkpoint.step === step);
  const load = async ({ model, ...policy }: TrainedPolicy): Promise<void> => {
    const uri = saved?.uris[policyKey(policy)];
    if (uri === undefined) throw missingCheckpoint(session.run.runId, step);
    await unlessAborted((await model.loadCheckpoint(uri)).result, session.failure);
  };
  await session.pauseCalls(() => Promise.all(trainedPolicies(session.policies).map(load)));
}

/** The error of a run without the checkpoint of a step that it has finished. */
export function missingCheckpoint(runId: string, step: number): AgentLightningError {
  return new AgentLightningError({ code: 'INTERNAL', message: `run ${runId} has no checkpoint of step ${step}` });
}

async function savePolicy(
  session: TrainingSession,
  policy: TrainedPolicy,
  step: number,
): Promise<readonly [string, string]> {
  const name = `step-${String(step).padStart(6, '0')}`;
  const operation = await policy.model.saveCheckpoint(name, { runId: session.run.runId, step });
  const { uri } = await unlessAborted(operation.result, session.failure);
  session.emit({ type: 'checkpointed', step, uri, policy: policy.name });
  return [policyKey(policy), uri];
}

/**
 * Deletes all checkpoints except those of {@link checkpointsToKeep}, and those that a deployment needs. The state that names the newest checkpoint must be
 * stored before: a resumed run needs it.
 */
export async function discardOldCheckpoints(session: TrainingSession, state: RunState): Promise<RunState> {
  return await discardCheckpoints(session, state, checkpointsToKeep(state, session.config.checkpoints));
}

/** Deletes all checkpoints except those, and those that a deployment needs. */
export async function discardCheckpoints(
  session: TrainingSession,
  state: RunState,
  wanted: readonly SavedStep[],
): Promise<RunState> {
  if (wanted.length === state.checkpoints.length) return state;
  const deployed = await findDeployedSteps(session.store, session.run.runId);
  if (deployed === null) return state;
  const isKept = (saved: SavedStep): boolean => wanted.includes(saved) || deployed.has(saved.step);
  const kept = state.checkpoints.filter(isKept);
  const surplus = state.checkpoints.filter((saved) => !isKept(saved));
  if (surplus.length === 0) return state;
  for (const policy of trainedPolicies(session.policies)) {
    for (const { uris } of surplus) {
      const uri = uris[policyKey(policy)];
      if (uri === undefined) continue;
      await policy.model.deleteCheckpoint(uri).catch((error: unknown) => {
        if (!AgentLightningError.isInstance(error) || error.code !== 'NOT_FOUND') throw error;
      });
    }
  }
  const next = { ...state, checkpoints: kept };
  await session.store.updateRun(session.run.runId, { state: writeState(next) });
  return next;
}

/** The newest checkpoints, and the best one: see {@link bestCheckpoint}. */
export function checkpointsToKeep(
  { checkpoints, evaluations }: Pick<RunState, 'checkpoints' | 'evaluations'>,
  { keep, keepBest }: Pick<CheckpointsSettings, 'keep' | 'keepBest'>,
): readonly SavedStep[] {
  const best = keepBest ? bestCheckpoint({ checkpoints, evaluations }) : null;
  const newest = checkpoints.slice(-keep);
  return checkpoints.filter((saved) => newest.includes(saved) || saved.step === best?.step);
}
