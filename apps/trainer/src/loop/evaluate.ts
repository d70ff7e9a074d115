import { meanInterval } from '@agentlightning/algorithms';
import type { CollectedRollout } from '@agentlightning/core';
import { primaryReward } from '../trace/primary-reward.ts';
import type { StoredEvaluation } from './run-state.ts';

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

/** A rollout of an evaluation that shows what changed: the first task answered wrongly before and rightly after. */
export function pickExamples(
  before: StoredEvaluation,
  after: StoredEvaluation,
): { readonly before: string | null; readonly after: string | null } {
  const gains = before.rewards.map((reward, index) => (after.rewards[index] ?? 0) - reward);
  const best = gains.reduce((top, gain, index) => (gain > (gains[top] ?? Number.NEGATIVE_INFINITY) ? index : top), 0);
  return { before: before.rolloutIds[best] ?? null, after: after.rolloutIds[best] ?? null };
}
