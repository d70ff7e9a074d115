import type { Trajectory } from '@agentlightning/core';
import { byGroup } from '../by-group.ts';
import type { SupervisedOptions } from './supervised-options.ts';

/** Which rollouts are good enough to be imitated. */
export type Selection = Pick<SupervisedOptions, 'minReward' | 'keepBest'>;

/** The trajectories that are good enough, group by group, the best first. */
export function selectTrajectories(
  trajectories: readonly Trajectory[],
  { minReward, keepBest }: Selection,
): readonly Trajectory[] {
  const isJudged = minReward !== undefined || keepBest !== undefined;
  return byGroup(trajectories).flatMap((members) => {
    const goodEnough = members.filter(({ reward }) =>
      reward === null ? !isJudged : reward >= (minReward ?? Number.NEGATIVE_INFINITY),
    );
    // Sorting is stable, so equal rewards keep their order and the outcome is always the same.
    const bestFirst = goodEnough.toSorted((one, other) => (other.reward ?? 0) - (one.reward ?? 0));
    return isJudged ? bestFirst.slice(0, keepBest ?? Infinity) : goodEnough;
  });
}
