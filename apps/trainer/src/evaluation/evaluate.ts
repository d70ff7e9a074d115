import { collectPhase } from '../rollouts/collect-phase.ts';
import { allFailed, failureText } from '../rollouts/rollout-failures.ts';
import type { TrainingSession } from '../session/training-session.ts';
import type { EvaluationPhase } from '../training-event.ts';
import type { FinishedRollout } from './finished-rollout.ts';
import { measureRewards, type StoredEvaluation, summariseRewards, summaryOf } from './stored-evaluation.ts';

/** What is evaluated. */
export interface EvaluationOptions {
  /** `during` uses the validation tasks, if there are any. */
  readonly phase: EvaluationPhase;
  /** The step of the weights. */
  readonly step: number;
  /** Part of the rollout ids, unique within the run. @default by phase and step */
  readonly key?: string;
}

/**
 * Runs the held-out tasks and measures their reward. Rollouts without a reward are reported and excluded from the mean.
 *
 * @throws AgentLightningError when every rollout failed: the evaluation has no result
 */
export async function evaluate(session: TrainingSession, options: EvaluationOptions): Promise<StoredEvaluation> {
  const evaluation = await measure(session, options);
  emitEvaluated(session, options, evaluation);
  return evaluation;
}

/** Reports an evaluation. */
export function emitEvaluated(
  { emit }: Pick<TrainingSession, 'emit'>,
  { phase, step }: EvaluationOptions,
  evaluation: StoredEvaluation,
): void {
  emit({ type: 'evaluated', phase, step, summary: summaryOf(evaluation) });
}

/** {@link evaluate} without the report. */
export async function measure(session: TrainingSession, options: EvaluationOptions): Promise<StoredEvaluation> {
  const { config, tasks } = session;
  const heldOut = options.phase === 'during' ? (tasks.validation ?? tasks.heldOut) : tasks.heldOut;
  const collected = await collectPhase(session, {
    ...options,
    tasks: heldOut.slice(0, config.evaluation.tasks).map((input, index) => ({ index, input })),
    rolloutsPerTask: config.evaluation.rolloutsPerTask,
  });
  if (collected.some(({ failure }) => failure !== null)) await session.assertHealthy();
  if (collected.every(({ failure }) => failure !== null)) throw await allFailed(session.store, collected);
  await warnOfLost(session, collected);
  return summariseRewards(measureRewards(collected, config.evaluation), config.evaluation.rewardRange);
}

/** Warns of rollouts that are excluded because they failed by infrastructure. */
export async function warnOfLost(
  { store, emit }: Pick<TrainingSession, 'store' | 'emit'>,
  collected: readonly FinishedRollout[],
): Promise<void> {
  const lost = collected.filter(({ failure }) => failure === 'infrastructure');
  const [first] = lost;
  if (first === undefined) return;
  const reason = await failureText(store, first);
  emit({
    type: 'warning',
    message: `${lost.length} of ${collected.length} rollouts are excluded because of infrastructure failures; the first: ${reason}`,
  });
}
