import { collectPhase } from '../rollouts/collect-phase.ts';
import { allFailed, failureText } from '../rollouts/rollout-failures.ts';
import type { TrainingSession } from '../session/training-session.ts';
import type { EvaluationPhase } from '../training-event.ts';
import type { FinishedRollout } from './finished-rollout.ts';
import { measureRewards, type StoredEvaluation, summariseRewards, summaryOf } from './stored-evaluation.ts';

/**
 * Runs the held-out tasks and measures their reward. Rollouts without a reward are reported and excluded from the mean.
 *
 * @param options.step - the last finished step
 * @throws AgentLightningError when every rollout failed: the evaluation has no result
 */
export async function evaluate(
  session: TrainingSession,
  options: { readonly phase: EvaluationPhase; readonly step: number },
): Promise<StoredEvaluation> {
  const { config, tasks } = session;
  const collected = await collectPhase(session, {
    ...options,
    tasks: tasks.heldOut.slice(0, config.evaluation.tasks).map((input, index) => ({ index, input })),
    rolloutsPerTask: config.evaluation.rolloutsPerTask,
  });
  if (collected.some(({ failure }) => failure !== null)) await session.assertHealthy();
  if (collected.every(({ failure }) => failure !== null)) throw await allFailed(session.store, collected);
  await warnOfLost(session, collected);
  const evaluation = summariseRewards(measureRewards(collected, config.evaluation), config.evaluation.rewardRange);
  session.emit({ type: 'evaluated', ...options, summary: summaryOf(evaluation) });
  return evaluation;
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
