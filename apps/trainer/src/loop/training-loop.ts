import { systemClock } from '@agentlightning/core/internal';
import { openCollector } from '../collection/open-collector.ts';
import type { ResolvedConfig } from '../config/resolve-config.ts';
import { warnOfEvaluation } from '../diagnosis/run-warnings.ts';
import { evaluate } from '../evaluation/evaluate.ts';
import { summaryOf } from '../evaluation/stored-evaluation.ts';
import type { RunState } from '../run/run-state.ts';
import { writeState } from '../run/write-state.ts';
import type { TrainingSession } from '../session/training-session.ts';
import type { TrainingSummary } from '../training-event.ts';
import { saveCheckpoint } from './checkpoints.ts';
import { completionReason } from './completion-reason.ts';
import { summariseRun } from './summarise-run.ts';
import { TimeEstimate } from './time-estimate.ts';
import { trainStep } from './train-step.ts';

/**
 * The training loop: evaluate; for each step collect rollouts, plan and apply updates, publish the weights; evaluate again.
 *
 * A step is finished when its state and metrics are in the store, in one transaction. After a crash, the run resumes from
 * the last checkpoint, and reuses the rollouts that later steps have collected.
 */
export async function trainingLoop(session: TrainingSession): Promise<TrainingSummary> {
  const { run, config, signal } = session;
  const startedMs = systemClock.now();
  const timeEstimate = new TimeEstimate(config.steps);
  let state = await saveInitialModel(session, session.state);
  state = await evaluateBefore(session, state);
  const collector = openCollector({ ...session, state });
  while (completionReason(state, config) === null) {
    signal.throwIfAborted();
    state = isEvaluationDue(state, config)
      ? await evaluateDuring(session, state)
      : await trainStep({ session, state, collector, timeEstimate });
  }
  await collector.close();
  state = await saveLastModel(session, state);
  state = await evaluateAfter(session, state);
  return summariseRun({ run, state, config, seconds: (systemClock.now() - startedMs) / 1000 });
}

async function saveInitialModel(session: TrainingSession, state: RunState): Promise<RunState> {
  if (state.checkpoint !== null) return state;
  return await save(session, { ...state, ...(await saveCheckpoint(session, state, 0)) });
}

async function evaluateBefore(session: TrainingSession, state: RunState): Promise<RunState> {
  if (state.before !== null) return state;
  return await saveEvaluated(session, { ...state, before: await evaluate(session, { phase: 'before', step: 0 }) });
}

function isEvaluationDue({ finishedStep, evaluations }: RunState, { evaluation }: ResolvedConfig): boolean {
  if (evaluation.every === 0 || finishedStep === 0 || finishedStep % evaluation.every !== 0) return false;
  return !evaluations.some(({ step }) => step === finishedStep);
}

async function evaluateDuring(session: TrainingSession, state: RunState): Promise<RunState> {
  const step = state.finishedStep;
  const summary = summaryOf(await evaluate(session, { phase: 'during', step }));
  return await saveEvaluated(session, { ...state, evaluations: [...state.evaluations, { step, summary }] });
}

async function evaluateAfter(session: TrainingSession, state: RunState): Promise<RunState> {
  if (state.after !== null) return state;
  const after = await evaluate(session, { phase: 'after', step: state.finishedStep });
  return await saveEvaluated(session, { ...state, after }, 'finished');
}

/** Saves a new evaluation with its warnings. */
async function saveEvaluated(session: TrainingSession, state: RunState, status?: 'finished'): Promise<RunState> {
  const warnings = [...state.warnings, ...warnOfEvaluation(session, state)];
  return await save(session, { ...state, warnings }, status);
}

/** Saves a checkpoint of the last step: an evaluation may have ended the run between two checkpoints. */
async function saveLastModel(session: TrainingSession, state: RunState): Promise<RunState> {
  if (state.checkpoint?.step === state.finishedStep) return state;
  return await save(session, { ...state, ...(await saveCheckpoint(session, state, state.finishedStep)) });
}

async function save(session: TrainingSession, state: RunState, status?: 'finished'): Promise<RunState> {
  const patch = status === undefined ? {} : { status };
  await session.lease.renew();
  await session.store.updateRun(session.run.runId, { ...patch, state: writeState(state) });
  return state;
}
