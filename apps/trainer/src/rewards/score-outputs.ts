import type { RewardChoice } from '@agentlightning/algorithms';
import type { JsonValue, Span } from '@agentlightning/core';
import type { RewardInput } from '@agentlightning/core/algorithm';
import { findScoredOutput, rewardsOfScores, systemClock } from '@agentlightning/core/internal';
import type { PartScore } from '@agentlightning/core/spans';
import type { OutputScoring } from '@agentlightning/runner';
import { primaryPart, scoreOutput } from '@agentlightning/runner/internal';
import { choiceOfParts } from '../config/reward-definition.ts';
import type { RewardsSettings } from '../config/sections/reward-config.ts';
import { lastText } from '../evaluation/constant-response.ts';
import { groupParts, groupScores } from '../rollouts/score-groups.ts';

/** A reward that is computed from outputs, with the weights of its parts. */
export interface ComputedReward {
  readonly scoring: OutputScoring;
  readonly choice: RewardChoice;
}

/** The computed reward of a configuration; null where agents return their reward. */
export function computedReward(rewards: RewardsSettings): ComputedReward | null {
  return rewards.scoring === null ? null : { scoring: rewards.scoring, choice: choiceOfParts(rewards) };
}

/** What the agent of a stored rollout returned; where it was not recorded, the text of its last response. */
export function storedOutput(spans: readonly Span[]): { readonly output: JsonValue; readonly isRecorded: boolean } {
  const recorded = findScoredOutput(spans)?.output as JsonValue | undefined;
  return { output: recorded === undefined ? lastText(spans) : recorded, isRecorded: recorded !== undefined };
}

/** How an output is scored. */
export interface OutputScores {
  readonly scores: Readonly<Record<string, PartScore>>;
  /** The reward; null where a part that counts is missing. */
  readonly reward: number | null;
}

/** Scores outputs of the same task, as the rollouts of a group are scored. */
export async function scoreSiblings(
  { scoring, choice }: ComputedReward,
  inputs: readonly RewardInput[],
): Promise<readonly OutputScores[]> {
  const own = await Promise.all(
    inputs.map(({ signal, ...input }) => scoreOutput(scoring, input, { clock: systemClock, signal })),
  );
  const ofGroup = await groupScores(inputs, groupParts(scoring), new Set());
  return own.map((scores, index) => {
    const all = { ...scores, ...ofGroup[index] };
    return { scores: all, reward: rewardOf(all, { choice, primary: primaryPart(scoring) }) };
  });
}

function rewardOf(
  scores: Readonly<Record<string, PartScore>>,
  { choice, primary }: { readonly choice: RewardChoice; readonly primary: string },
): number | null {
  const { rewardWeights } = choice;
  if (rewardWeights === undefined) return rewardsOfScores(scores, primary)[0]?.value ?? null;
  return Object.entries(rewardWeights).reduce<number | null>((sum, [name, weight]) => {
    const score = scores[name]?.score ?? null;
    return sum === null || score === null ? null : sum + weight * score;
  }, 0);
}
