import type { JsonValue } from '@agentlightning/core';
import type { EvaluationPhase } from '@agentlightning/core/protocol';
import { phaseServices, planPhase } from '../rollouts/collect-phase.ts';
import {
  assumedRangeText,
  measureRewards,
  noEvaluation,
  type StoredEvaluation,
  summariseRewards,
  summaryOf,
} from '../run/stored-evaluation.ts';
import type { TrainingSession } from '../session/training-session.ts';
import { collectEvaluation } from './collect-evaluation.ts';
import { lastResponse } from './constant-response.ts';

/** The evaluation to run. */
export interface EvaluationOptions {
  /** `during` uses the validation tasks, if there are any. */
  readonly phase: EvaluationPhase;
  /** The step of the weights. */
  readonly step: number;
  /** Part of the rollout ids, unique within the run. @default by phase and step */
  readonly key?: string;
  /** @default `evaluation.rolloutsPerTask` */
  readonly rolloutsPerTask?: number;
  /** @default those of the phase */
  readonly tasks?: readonly JsonValue[];
}

/**
 * Runs the held-out tasks and measures their reward. Rollouts without a reward are reported and excluded from the mean.
 *
 * @throws AgentLightningError when every rollout failed: the evaluation has no result
 */
export async function evaluate(session: TrainingSession, options: EvaluationOptions): Promise<StoredEvaluation> {
  const evaluation = await measure(session, options);
  if (evaluation.rewards.length === 0) return evaluation;
  emitEvaluated(session, options, evaluation);
  return evaluation;
}

/** Reports an evaluation. */
export function emitEvaluated(
  { emit, tasks }: Pick<TrainingSession, 'emit' | 'tasks'>,
  { phase, step }: EvaluationOptions,
  evaluation: StoredEvaluation,
): void {
  const isValidation = phase === 'during' && tasks.validation !== null;
  emit({ type: 'evaluated', phase, step, tasks: isValidation ? 'validation' : 'test', summary: summaryOf(evaluation) });
}

/** {@link evaluate} without the report. */
export async function measure(session: TrainingSession, options: EvaluationOptions): Promise<StoredEvaluation> {
  const { config, tasks, emit, emittedWarnings } = session;
  const { rolloutsPerTask = config.evaluation.rolloutsPerTask } = options;
  const ofPhase = options.phase === 'during' ? (tasks.validation ?? tasks.heldOut) : tasks.heldOut;
  const { tasks: heldOut = ofPhase } = options;
  if (heldOut.length === 0) return noEvaluation(rolloutsPerTask);
  const plan = {
    ...options,
    tasks: heldOut.slice(0, config.evaluation.tasks).map((input, index) => ({ index, input })),
    rolloutsPerTask,
  };
  const collected = await collectEvaluation(planPhase(session, plan), {
    ...phaseServices(session, plan),
    emit,
    mayAllFail: options.step > 0 && config.reward.failedReward !== null,
  });
  const responses = collected.map(({ spans }) => lastResponse(spans));
  const measured = { ...measureRewards(collected, config.reward, rolloutsPerTask), responses };
  const warning = assumedRangeText(measured, config.reward.range);
  if (warning !== null && !emittedWarnings.has('assumed-range')) {
    emittedWarnings.add('assumed-range');
    emit({ type: 'warning', message: warning });
  }
  return summariseRewards(measured, config.reward.range);
}
