import type { ResolvedRewards } from '../config/resolve-config.ts';
import { primaryReward } from '../trace/primary-reward.ts';
import type { FinishedRollout } from './finished-rollout.ts';

/** Metrics of the rewards of a step: `reward/out_of_range` with a declared range. */
export function rewardMetrics(
  collected: readonly FinishedRollout[],
  { range }: ResolvedRewards,
): Readonly<Record<string, number>> {
  if (range === null) return {};
  const [low, high] = range;
  const rewards = collected.map(({ spans }) => primaryReward(spans)).filter((reward) => reward !== null);
  return { 'reward/out_of_range': rewards.filter((reward) => reward < low || reward > high).length };
}
