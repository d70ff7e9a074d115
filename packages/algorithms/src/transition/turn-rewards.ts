import type { EmittedReward, Span } from '@agentlightning/core';
import { findRewards } from '@agentlightning/core';

/** What an attempt's reward spans say, in order of sequence id. */
export interface TurnRewards {
  /** The reward of each model call that was given one, by the call's sequence id. */
  readonly byCall: ReadonlyMap<number, number>;
  /** The reward of the whole attempt; null when it has none. */
  readonly final: number | null;
  /** How many rewards came before the first model call, so that they belong to no turn. */
  readonly beforeFirstCall: number;
}

/**
 * Matches rewards with model calls by sequence id, never by clock: a reward belongs to the last call before
 * it, and several that belong to one call are added up. The last reward of all is the reward of the attempt. It
 * is that of its turn as well, unless the turn was given one before: then the last one, often what the agent
 * returned, judges the attempt only.
 *
 * @param spans - the spans of one attempt, in any order
 * @param callSequenceIds - sequence ids of the model calls, ascending
 * @param rewardName - the dimension to read; null for the primary one
 */
export function turnRewards(
  spans: readonly Span[],
  callSequenceIds: readonly number[],
  rewardName: string | null,
): TurnRewards {
  const rewards = findRewards(spans).flatMap((emitted) => {
    const value = dimensionOf(emitted, rewardName);
    return value === null ? [] : [{ sequenceId: emitted.sequenceId, value }];
  });
  const byCall = new Map<number, number>();
  let beforeFirstCall = 0;
  let callsBefore = 0;
  for (const [index, { sequenceId, value }] of rewards.entries()) {
    while ((callSequenceIds[callsBefore] ?? Infinity) < sequenceId) callsBefore += 1;
    const call = callSequenceIds[callsBefore - 1];
    if (call === undefined) {
      beforeFirstCall += 1;
      continue;
    }
    const earlier = byCall.get(call);
    const isOfAttemptOnly = index === rewards.length - 1 && earlier !== undefined;
    if (!isOfAttemptOnly) byCall.set(call, (earlier ?? 0) + value);
  }
  return { byCall, final: rewards.at(-1)?.value ?? null, beforeFirstCall };
}

function dimensionOf({ rewards }: EmittedReward, rewardName: string | null): number | null {
  const reward = rewardName === null ? rewards[0] : rewards.find(({ name }) => name === rewardName);
  return reward?.value ?? null;
}
