import { meanInterval } from '@agentlightning/algorithms';
import type { CollectedRollout } from '@agentlightning/core';
import { primaryReward } from '../trace/primary-reward.ts';
import type { EvaluationPhase } from '../training-event.ts';
import { allFailed } from './all-failed.ts';
import { collectPhase } from './collect-phase.ts';
import type { StoredEvaluation } from './run-state.ts';
import type { TrainingSession } from './training-session.ts';

/**
 * Runs the held-out tasks and measures their reward.
 *
 * @param options.step - the last finished step
 * @throws AgentLightningError when every rollout failed: that says nothing of how good the agent is
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
  const failed = collected.filter(({ rollout }) => rollout.status !== 'succeeded');
  if (failed.length > 0) await session.assertHealthy();
  if (failed.length === collected.length) throw await allFailed(session.store, collected);
  const summary = summariseEvaluation(collected);
  session.emit({ type: 'evaluated', ...options, summary });
  return summary;
}

/**
 * The mean held-out reward of finished rollouts. A rollout that failed, or that gave no reward, counts
 * as 0: an agent that breaks is not better than one that answers wrongly.
 */
export function summariseEvaluation(rollouts: readonly CollectedRollout[]): StoredEvaluation {
  const rewards = rollouts.map(({ rollout, spans }) =>
    rollout.status === 'succeeded' ? (primaryReward(spans) ?? 0) : 0,
  );
  const interval = meanInterval(rewards);
  return {
    reward: interval.mean,
    ci95: [interval.low, interval.high],
    rollouts: rewards.length,
    failed: rollouts.filter(({ rollout }) => rollout.status !== 'succeeded').length,
    rewards,
    rolloutIds: rollouts.map(({ rollout }) => rollout.rolloutId),
  };
}
