import { familyMetric, runMetrics } from '@agentlightning/core/metrics';
import { findFinalReward } from '@agentlightning/core/spans';
import type { RewardRange, RewardsSettings } from '../config/sections/reward-config.ts';
import { mean } from '../events/mean.ts';
import type { FinishedRollout } from '../results/finished-rollout.ts';

/**
 * The loss of a step that imitates rollouts with equal rewards, such as demonstrations: their reward says nothing about the
 * policy. Null for another step, and for one without an update.
 */
export function imitationLoss(metrics: Readonly<Record<string, number>>): number | null {
  const isImitated = (metrics[runMetrics.rolloutsImitated.name] ?? 0) > 0 && metrics[runMetrics.rewardStd.name] === 0;
  return isImitated ? (metrics[runMetrics.policyLoss.name] ?? null) : null;
}

/**
 * Metrics of the rewards of a step: those outside of their declared range and, with several dimensions, those of each over the
 * rollouts that have it.
 *
 * @param weights - the weights of the dimensions in the reward that is trained; null when only the primary one is
 */
export function rewardMetrics(
  collected: readonly FinishedRollout[],
  { range, parts }: Pick<RewardsSettings, 'range' | 'parts'>,
  weights: Readonly<Record<string, number>> | null,
): Readonly<Record<string, number>> {
  const final = collected.map(({ spans }) => findFinalReward(spans)?.rewards ?? []);
  const primary = final.flatMap(([first]) => first?.value ?? []);
  const rewards = final.flat();
  const names = [...new Set(rewards.map(({ name }) => name))];
  const measured = names.map((name) =>
    measure(
      name,
      rewards.flatMap((reward) => (reward.name === name ? [reward.value] : [])),
    ),
  );
  const outside = [
    ...(range === null ? [] : [countOutside(primary, range)]),
    ...measured.flatMap(({ name, values }) => {
      const declared = Object.hasOwn(parts, name) ? (parts[name]?.range ?? null) : null;
      return declared === null ? [] : [countOutside(values, declared)];
    }),
  ];
  const isDeclared = range !== null || Object.values(parts).some((part) => part.range !== null);
  return {
    ...(isDeclared ? { [runMetrics.rewardOutOfRange.name]: outside.reduce((sum, count) => sum + count, 0) } : {}),
    ...(measured.length > 1 ? partMetrics(measured, weights) : {}),
  };
}

interface MeasuredPart {
  readonly name: string;
  readonly values: readonly number[];
  readonly mean: number;
}

function measure(name: string, values: readonly number[]): MeasuredPart {
  return { name, values, mean: mean(values) ?? 0 };
}

function partMetrics(
  parts: readonly MeasuredPart[],
  weights: Readonly<Record<string, number>> | null,
): Readonly<Record<string, number>> {
  // Agents choose the names: `constructor` is not a weight.
  const weightOf = (name: string): number =>
    weights !== null && Object.hasOwn(weights, name) ? (weights[name] ?? 0) : 0;
  const contributions = parts.map(({ name, mean }) => Math.abs(weightOf(name) * mean));
  const total = contributions.reduce((sum, contribution) => sum + contribution, 0);
  const entries = parts.flatMap(({ name, values, mean }, index): [string, number][] => {
    const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length;
    const share = total === 0 ? [] : [(contributions[index] ?? 0) / total];
    return [
      [familyMetric(runMetrics.rewardPartMean, name), mean],
      [familyMetric(runMetrics.rewardPartStd, name), Math.sqrt(variance)],
      ...share.map((value): [string, number] => [familyMetric(runMetrics.rewardPartShare, name), value]),
    ];
  });
  return Object.fromEntries(entries);
}

function countOutside(values: readonly number[], [low, high]: RewardRange): number {
  return values.filter((value) => value < low || value > high).length;
}
