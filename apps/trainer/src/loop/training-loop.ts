import { systemClock } from '@agentlightning/core/internal';
import type { ResolvedConfig } from '../config/resolve-config.ts';
import { evaluate } from '../evaluation/evaluate.ts';
import { summaryOf } from '../evaluation/stored-evaluation.ts';
import type { RunState } from '../run/run-state.ts';
import { writeState } from '../run/write-state.ts';
import type { TrainingSession } from '../session/training-session.ts';
import type { TrainingSummary } from '../training-event.ts';
import { saveCheckpoint } from './checkpoints.ts';
import { Pace } from './pace.ts';
import { whyNoStepIsLeft } from './steps-left.ts';
import { summariseRun } from './summarise-run.ts';
import { trainStep } from './train-step.ts';

/**
 * The training loop: collect rollouts, let the algorithm plan, take the steps, publish the weights.
 *
 * A step is finished when its state and metrics are in the store, in one transaction. Whatever dies
 * before that, the step is done again from the last checkpoint with the rollouts that are there.
 */
export async function trainingLoop(session: TrainingSession): Promise<TrainingSummary> {
  const { config } = session;
  const startedMs = systemClock.now();
  let state = session.state;
  if (state.checkpoint === null) {
    state = await save(session, { ...state, ...(await saveCheckpoint(session, state, 0)) });
  }
  if (state.before === null) {
    state = await save(session, { ...state, before: await evaluate(session, { phase: 'before', step: 0 }) });
  }
  const pace = new Pace(config.steps);
  while (whyNoStepIsLeft(state, config) === null) {
    session.signal.throwIfAborted();
    state = isEvaluationDue(state, config)
      ? await evaluateMidway(session, state)
      : await trainStep({ session, state, pace });
  }
  if (state.after === null) {
    const after = await evaluate(session, { phase: 'after', step: state.finishedStep });
    state = await save(session, { ...state, after }, 'finished');
  }
  const seconds = (systemClock.now() - startedMs) / 1000;
  return summariseRun({ run: session.run, state, config, seconds });
}

function isEvaluationDue({ finishedStep, evaluations }: RunState, { evaluation }: ResolvedConfig): boolean {
  if (evaluation.every === 0 || finishedStep === 0 || finishedStep % evaluation.every !== 0) return false;
  return !evaluations.some(({ step }) => step === finishedStep);
}

async function evaluateMidway(session: TrainingSession, state: RunState): Promise<RunState> {
  const step = state.finishedStep;
  const summary = summaryOf(await evaluate(session, { phase: 'during', step }));
  return await save(session, { ...state, evaluations: [...state.evaluations, { step, summary }] });
}

async function save(session: TrainingSession, state: RunState, status?: 'finished'): Promise<RunState> {
  const patch = status === undefined ? {} : { status };
  await session.lease.renew();
  await session.store.updateRun(session.run.runId, { ...patch, state: writeState(state) });
  return state;
}
