import { AgentLightningError } from '../base/agent-lightning-error.ts';
import type { Reward } from '../spans/reward.ts';
import { isRewardNumber, rewardOutOfRange } from '../spans/reward-range.ts';
import { primaryRewardName, rewardAttributes } from '../spans/reward-spans.ts';
import { spanNames } from '../spans/span-attributes.ts';
import { type EmitOptions, emitSpan, optionAttributes } from './emit.ts';

/** An emitted reward: one number, or one per named dimension. True counts as 1, false as 0. */
export type RewardValue = number | boolean | Readonly<Record<string, number | boolean>>;

/** Options of {@link emitReward}. */
export interface EmitRewardOptions extends EmitOptions {
  /**
   * The dimension used for training.
   *
   * @default `primary` if there is such a dimension, or the only one
   */
  readonly primaryKey?: string;
}

/**
 * Records a reward. It applies to the preceding model calls; the last one counts as the rollout's reward. Outside of a
 * rollout the value is only validated.
 *
 * @returns the span id; null outside of a rollout
 * @throws AgentLightningError INVALID_REWARD when a value is not a finite number of at most {@link maxRewardMagnitude},
 * or when there are several dimensions and no primary one
 *
 * @example
 * ```ts
 * emitReward(answer === expected ? 1 : 0);
 * emitReward({ correct: 1, brevity: 0.4 }, { primaryKey: 'correct' });
 * ```
 */
export function emitReward(reward: RewardValue, options: EmitRewardOptions = {}): string | null {
  const rewards = toRewards(reward, options.primaryKey);
  return emitSpan(spanNames.annotation, { ...rewardAttributes(rewards), ...optionAttributes(options) });
}

/**
 * The dimensions of a reward, the primary one first.
 *
 * @throws AgentLightningError INVALID_REWARD, as {@link emitReward} does
 */
export function toRewards(reward: RewardValue, primaryKey?: string): readonly Reward[] {
  if (typeof reward !== 'object' || reward === null) return [toReward(primaryRewardName, reward)];
  const rewards = Object.entries(reward).map(([name, value]) => toReward(name, value));
  const primary = rewards.find((candidate) => candidate.name === primaryNameOf(rewards, primaryKey));
  if (primary === undefined) throw missingPrimary(rewards, primaryKey);
  return [primary, ...rewards.filter((other) => other !== primary)];
}

function toReward(name: string, value: unknown): Reward {
  if (typeof value === 'boolean') return { name, value: value ? 1 : 0 };
  if (isRewardNumber(value)) return { name, value };
  if (typeof value === 'number') throw rewardOutOfRange(name, value);
  const shown = typeof value === 'string' ? JSON.stringify(value) : String(value);
  throw invalidReward(
    `The reward "${name}" is ${shown} (${typeof value}), which is not a number; return a number or a boolean`,
    { name },
  );
}

function primaryNameOf(rewards: readonly Reward[], primaryKey: string | undefined): string | undefined {
  if (primaryKey !== undefined) return primaryKey;
  if (rewards.some((reward) => reward.name === primaryRewardName)) return primaryRewardName;
  return rewards.length === 1 ? rewards[0]?.name : undefined;
}

function missingPrimary(rewards: readonly Reward[], primaryKey: string | undefined): AgentLightningError {
  const names = rewards.map((reward) => reward.name).join(', ');
  const message =
    rewards.length === 0
      ? 'The reward has no dimension'
      : primaryKey === undefined
        ? `The reward has several dimensions (${names}) and none is named as the primary one: call one of them "${primaryRewardName}"`
        : `The primary reward "${primaryKey}" is not among the dimensions (${names})`;
  const remedy = `Return \`{ ${primaryRewardName}: …, … }\` from the agent, or pass \`primaryKey\` to \`emitReward\`. \`rewardWeights\` of the algorithm weighs all of them.`;
  return new AgentLightningError({ code: 'INVALID_REWARD', message, remedy });
}

function invalidReward(message: string, details: Readonly<Record<string, unknown>>): AgentLightningError {
  return new AgentLightningError({ code: 'INVALID_REWARD', message, details });
}
