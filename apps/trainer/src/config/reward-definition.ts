import type { AlgorithmOptions, RewardChoice } from '@agentlightning/algorithms';
import type { PromptTemplateResource } from '@agentlightning/core';
import type { ResolvedPolicy } from './policies.ts';
import type { RewardRange, RewardsSettings } from './sections/reward-config.ts';

/** The reward of a rollout, in updates, metrics, evaluations and everything that compares rollouts. */
export interface RewardDefinition {
  /** Reward of a rollout whose agent failed; null excludes it. */
  readonly failedReward: number | null;
  /** Reward of a rollout that succeeded without one; null excludes it. */
  readonly missingReward: number | null;
  /** The dimension or the weighted sum. @default the primary dimension */
  readonly choice: RewardChoice;
  /** Its lowest and highest value; null unless it follows from what is declared. */
  readonly range: RewardRange | null;
  /**
   * Its parts that are scored by comparing the rollouts of a task with each other (`scoreGroup`): a mean of them does not change
   * with the agent.
   */
  readonly relativeParts: readonly string[];
}

/**
 * The reward that a training maximises: the one that all its trained policies learn from. Policies that learn from different
 * rewards have the primary dimension in common.
 */
export function rewardDefinition(policies: readonly ResolvedPolicy[], rewards: RewardsSettings): RewardDefinition {
  const choices = policies.flatMap(({ algorithm }) => (algorithm === null ? [] : [choiceOf(algorithm)]));
  const [first = choiceOfParts(rewards)] = choices;
  const isShared = new Set(choices.map((each) => JSON.stringify(each))).size <= 1;
  const choice = isShared ? first : {};
  return {
    failedReward: rewards.failed,
    missingReward: rewards.missing,
    choice,
    range: definedRange(choice, rewards),
    relativeParts: relativeParts(choice, rewards),
  };
}

function relativeParts(
  { rewardName, rewardWeights }: RewardChoice,
  { scoring, primary }: Pick<RewardsSettings, 'scoring' | 'primary'>,
): readonly string[] {
  if (scoring === null || typeof scoring === 'function') return [];
  const counted = rewardWeights === undefined ? [rewardName ?? primary ?? []].flat() : Object.keys(rewardWeights);
  return counted.filter((name) => Object.hasOwn(scoring.parts, name) && scoring.parts[name]?.scoreGroup !== undefined);
}

/** The prompts of the judges of a reward as resources, so that rollouts refer to the versions that score them. */
export function judgeResources({
  scoring,
}: Pick<RewardsSettings, 'scoring'>): Readonly<Record<string, PromptTemplateResource>> {
  if (scoring === null || typeof scoring === 'function') return {};
  return Object.fromEntries(
    Object.entries(scoring.parts).flatMap(([name, { prompt: template }]): [string, PromptTemplateResource][] =>
      template === undefined ? [] : [[`judge/${name}`, { resourceType: 'prompt_template', template, engine: 'jinja' }]],
    ),
  );
}

/** The weighted sum of the computed parts; nothing where only the primary one counts, with weight 1. */
export function choiceOfParts({ parts, primary }: RewardsSettings): RewardChoice {
  const weighted = Object.entries(parts).filter(([, { weight }]) => weight !== null && weight !== 0);
  const isPrimaryOnly = weighted.every(([name, { weight }]) => name === primary && weight === 1);
  if (isPrimaryOnly) return {};
  return { rewardWeights: Object.fromEntries(weighted.map(([name, { weight }]) => [name, weight ?? 0])) };
}

function choiceOf(algorithm: AlgorithmOptions): RewardChoice {
  if (algorithm.type === 'custom') return {};
  const { rewardName, rewardWeights } = algorithm;
  return {
    ...(rewardName === undefined ? {} : { rewardName }),
    ...(rewardWeights === undefined ? {} : { rewardWeights }),
  };
}

/** The range of the defined reward; null unless it follows from what is declared. */
function definedRange(
  { rewardName, rewardWeights }: RewardChoice,
  { range, parts, primary }: Pick<RewardsSettings, 'range' | 'parts' | 'primary'>,
): RewardRange | null {
  const rangeOf = (name: string): RewardRange | null =>
    Object.hasOwn(parts, name) ? (parts[name]?.range ?? null) : null;
  if (rewardWeights === undefined) {
    if (rewardName !== undefined) return rangeOf(rewardName);
    return range ?? (primary === null ? null : rangeOf(primary));
  }
  let [low, high] = [0, 0];
  for (const [name, weight] of Object.entries(rewardWeights)) {
    const part = rangeOf(name);
    if (part === null) return range;
    low += Math.min(weight * part[0], weight * part[1]);
    high += Math.max(weight * part[0], weight * part[1]);
  }
  return low < high ? [low, high] : null;
}
