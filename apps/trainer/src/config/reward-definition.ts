import type { AlgorithmOptions, RewardChoice } from '@agentlightning/algorithms';
import type { ResolvedPolicy } from './policies.ts';

/** Lowest and highest possible reward. */
export type RewardRange = readonly [low: number, high: number];

/** The reward of a rollout, in updates, metrics, evaluations and everything that compares rollouts. */
export interface RewardDefinition {
  /** Reward of a rollout whose agent failed; null excludes it. */
  readonly failedReward: number | null;
  /** Reward of a rollout that succeeded without one; null excludes it. */
  readonly missingReward: number | null;
  /** The dimension or the weighted sum. @default the primary dimension */
  readonly choice?: RewardChoice;
}

/**
 * The reward that a training maximises: the one that all its trained policies learn from. Policies that learn from different
 * rewards have the primary dimension in common.
 */
export function rewardDefinition(policies: readonly ResolvedPolicy[], failedReward: number | null): RewardDefinition {
  const definitions = policies.flatMap(({ algorithm }) => (algorithm === null ? [] : [definitionOf(algorithm)]));
  const [first] = definitions;
  const isShared = new Set(definitions.map((each) => JSON.stringify(each))).size === 1;
  return { failedReward, ...(first !== undefined && isShared ? first : { missingReward: null }) };
}

function definitionOf(algorithm: AlgorithmOptions): Omit<RewardDefinition, 'failedReward'> {
  if (algorithm.type === 'custom') return { missingReward: null };
  const { rewardName, rewardWeights, missingReward = null } = algorithm;
  const choice = {
    ...(rewardName === undefined ? {} : { rewardName }),
    ...(rewardWeights === undefined ? {} : { rewardWeights }),
  };
  return { missingReward, choice };
}

/** The declared dimensions of the reward, with their ranges. */
type DeclaredParts = Readonly<Record<string, { readonly range: RewardRange | null }>>;

/** The range of the defined reward; undefined unless it follows from what is declared. */
export function definedRange(
  { rewardName, rewardWeights }: RewardChoice,
  { range, parts }: { readonly range: RewardRange | null; readonly parts: DeclaredParts },
): RewardRange | undefined {
  const rangeOf = (name: string): RewardRange | null =>
    Object.hasOwn(parts, name) ? (parts[name]?.range ?? null) : null;
  if (rewardWeights === undefined) return (rewardName === undefined ? range : rangeOf(rewardName)) ?? undefined;
  let [low, high] = [0, 0];
  for (const [name, weight] of Object.entries(rewardWeights)) {
    const part = rangeOf(name);
    if (part === null) return range ?? undefined;
    low += Math.min(weight * part[0], weight * part[1]);
    high += Math.max(weight * part[0], weight * part[1]);
  }
  return low < high ? [low, high] : undefined;
}
