import { judgeBySettings } from '../diagnosis/verdict.ts';
import { emitEvaluated, evaluate, measure } from '../evaluation/evaluate.ts';
import { bestCheckpoint } from '../run/choose-checkpoint.ts';
import { stageCheckpoints } from '../run/run-stages.ts';
import type { RunState } from '../run/run-state.ts';
import { summaryOf } from '../run/stored-evaluation.ts';
import type { TrainingSession } from '../session/training-session.ts';
import { loadCheckpoint } from './checkpoints.ts';
import { evaluateGuardsAfter } from './evaluate-guards.ts';
import { endsWithBest, evaluateDuring, saveEvaluated } from './run-evaluations.ts';

/**
 * Ends a run with its final checkpoint, which is then served and evaluated on the test tasks. With `checkpoints.finish: 'best'` it is the
 * checkpoint with the best evaluation: on the validation tasks or, without them, on the test tasks. The last step is
 * evaluated for it. Without evaluations during training, it is the last checkpoint.
 */
export async function finishRun(session: TrainingSession, state: RunState): Promise<RunState> {
  const { finishedStep: step, evaluations } = state;
  if (!endsWithBest(session.config) || step === 0) return await finishWith(session, state, step);
  if (evaluations.some((evaluation) => evaluation.step === step)) return await finishWithBest(session, state);
  if (session.tasks.validation !== null) return await finishWithBest(session, await evaluateDuring(session, state));
  // On the same tasks as the final evaluation: it is that if the last step is the best.
  const last = await measure(session, { phase: 'after', step });
  const evaluated = { ...state, evaluations: [...evaluations, { step, summary: summaryOf(last) }] };
  if (bestStep(evaluated) === step) {
    emitEvaluated(session, { phase: 'after', step }, last);
    return await saveJudged(session, { ...state, after: last, finalStep: step });
  }
  emitEvaluated(session, { phase: 'during', step }, last);
  return await finishWithBest(session, await saveEvaluated(session, evaluated));
}

function bestStep(state: RunState): number {
  return bestCheckpoint({ ...state, checkpoints: stageCheckpoints(state) })?.step ?? state.finishedStep;
}

async function finishWithBest(session: TrainingSession, state: RunState): Promise<RunState> {
  return await finishWith(session, state, bestStep(state));
}

async function finishWith(session: TrainingSession, state: RunState, step: number): Promise<RunState> {
  const isLast = step === state.finishedStep;
  if (!isLast) await loadCheckpoint(session, state, step);
  // New rollouts for a checkpoint that was selected by its earlier ones.
  const again = isLast ? {} : { key: `after-${state.finishedStep}-with-${step}`, rolloutsPerTask: samplesOf(session) };
  const after = await evaluate(session, { phase: 'after', step, ...again });
  return await saveJudged(session, { ...state, after, finalStep: step });
}

/** Ends the run, after the evaluations of its guards by the final weights, which are served. */
async function saveJudged(session: TrainingSession, state: RunState): Promise<RunState> {
  return await saveEvaluated(session, judged(session, await evaluateGuardsAfter(session, state)), 'finished');
}

/** The state with the verdict, which readers of the store do not compute. */
function judged({ config }: TrainingSession, state: RunState): RunState {
  const { before, after } = state;
  if (before === null || after === null) return state;
  return { ...state, verdict: judgeBySettings(before, after, config).verdict };
}

/** The rollouts of a task of a selected checkpoint, unless more are configured, and the limit of all tasks together. */
const selectedSamples = { perTask: 4, total: 512 };

/**
 * The number of rollouts of a task that measure a selected checkpoint: its reward was the best of several, so the verdict
 * must not depend on one rollout of each task.
 */
function samplesOf({ config, tasks }: TrainingSession): number {
  const { rolloutsPerTask, tasks: limit } = config.evaluation;
  const count = Math.max(1, Math.min(tasks.heldOut.length, limit));
  const affordable = Math.floor(selectedSamples.total / count);
  return Math.max(rolloutsPerTask, Math.min(selectedSamples.perTask, affordable));
}
