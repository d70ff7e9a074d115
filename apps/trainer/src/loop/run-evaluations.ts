import type { ResolvedConfig } from '../config/resolve-config.ts';
import { fewTasksText } from '../diagnosis/verdict.ts';
import { evaluate } from '../evaluation/evaluate.ts';
import { overlapText } from '../run/run-shape.ts';
import { type RunState, writeState } from '../run/run-state.ts';
import { summaryOf } from '../run/stored-evaluation.ts';
import type { TrainingSession } from '../session/training-session.ts';
import { warnOfEvaluation } from './emit-run-warnings.ts';

/** Evaluates the initial weights, unless they have been. Emits a warning when there are too few held-out tasks for a verdict. */
export async function evaluateBefore(session: TrainingSession, state: RunState): Promise<RunState> {
  if (state.before !== null) return state;
  const { config, tasks } = session;
  const count = Math.min(tasks.heldOut.length, config.evaluation.tasks);
  const text = count === 0 ? null : fewTasksText(count);
  const overlap = overlapText(tasks);
  const remedy =
    'The reward on them does not show what the policy has learned for new tasks. Remove them from `tasks.train`.';
  const warnings = [...(text === null ? [] : [text]), ...(overlap === null ? [] : [`${overlap}. ${remedy}`])];
  if (config.steps > 0) for (const message of warnings) session.emit({ type: 'warning', message });
  return await saveEvaluated(session, { ...state, before: await evaluate(session, { phase: 'before', step: 0 }) });
}

/** Whether the weights of the last finished step are to be evaluated. Validation begins with the initial weights. */
export function isEvaluationDue(
  { finishedStep, evaluations }: RunState,
  { config, tasks }: Pick<TrainingSession, 'config' | 'tasks'>,
): boolean {
  const { every } = config.evaluation;
  if (every === 0 || finishedStep % every !== 0) return false;
  if (finishedStep === 0 && tasks.validation === null) return false;
  return !evaluations.some(({ step }) => step === finishedStep);
}

/** Evaluates the weights of the last finished step on the validation tasks or, without them, on the test tasks. */
export async function evaluateDuring(session: TrainingSession, state: RunState): Promise<RunState> {
  const step = state.finishedStep;
  const summary = summaryOf(await evaluate(session, { phase: 'during', step }));
  return await saveEvaluated(session, { ...state, evaluations: [...state.evaluations, { step, summary }] });
}

/** Saves a new evaluation with its warnings. */
export async function saveEvaluated(session: TrainingSession, state: RunState, status?: 'finished'): Promise<RunState> {
  const warnings = [...state.warnings, ...warnOfEvaluation(session, state)];
  return await saveState(session, { ...state, warnings }, status);
}

/** Saves the state of a run. */
export async function saveState(session: TrainingSession, state: RunState, status?: 'finished'): Promise<RunState> {
  const patch = status === undefined ? {} : { status };
  const timed = { ...state, effort: { ...state.effort, seconds: session.workedSeconds() } };
  await session.lease.renew();
  await session.store.updateRun(session.run.runId, { ...patch, state: writeState(timed) });
  return timed;
}

/** Whether a run ends with its best checkpoint instead of its last one. */
export function endsWithBest({ checkpoints, evaluation }: Pick<ResolvedConfig, 'checkpoints' | 'evaluation'>): boolean {
  return checkpoints.finish === 'best' && evaluation.every > 0;
}
