import type { EmittedReward, Span } from '@agentlightning/core';
import { findLinkedSpans, findRewards, linksFromSpan } from '@agentlightning/core';
import type { Turns } from './turns.ts';

/** Which number of a reward with several dimensions is learnt from. */
export interface RewardChoice {
  /** One dimension by name. @default the primary one */
  readonly rewardName?: string;
  /**
   * Several dimensions by name, as the sum of weight times value. A reward that lacks one of them is no reward: a
   * dimension that nobody judged is not 0.
   *
   * @default one dimension
   */
  readonly rewardWeights?: Readonly<Record<string, number>>;
}

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
 * Matches rewards with model calls, never by clock. A reward that is linked to a span belongs to that span's turn, any
 * other to the last call before it by sequence id; several that belong to one call are added up. The last reward of all
 * is the reward of the attempt. It is that of its turn as well, unless the turn was given one before: then the last one,
 * often what the agent returned, judges the attempt only.
 *
 * @param spans - the spans of one attempt, in any order
 * @param turns - the turns of the same spans
 * @param choice - the dimension to read
 */
export function turnRewards(spans: readonly Span[], turns: Turns, choice: RewardChoice): TurnRewards {
  const rewards = findRewards(spans).flatMap((emitted) => {
    const value = chosenValue(emitted, choice);
    return value === null ? [] : [{ emitted, value }];
  });
  const bySpanId = new Map(spans.map((span) => [span.spanId, span]));
  const byCall = new Map<number, number>();
  let beforeFirstCall = 0;
  for (const [index, { emitted, value }] of rewards.entries()) {
    const span = bySpanId.get(emitted.spanId);
    const linked = span === undefined ? null : turnOfLink(span, spans, turns);
    const call = linked ?? turns.before(emitted.sequenceId);
    if (call === null) {
      beforeFirstCall += 1;
      continue;
    }
    const earlier = byCall.get(call);
    const isOfAttemptOnly = index === rewards.length - 1 && earlier !== undefined;
    if (!isOfAttemptOnly) byCall.set(call, (earlier ?? 0) + value);
  }
  return { byCall, final: rewards.at(-1)?.value ?? null, beforeFirstCall };
}

function turnOfLink(reward: Span, spans: readonly Span[], turns: Turns): number | null {
  for (const span of findLinkedSpans(spans, linksFromSpan(reward))) {
    if (span !== reward) return turns.ofSpan(span);
  }
  return null;
}

function chosenValue({ rewards }: EmittedReward, { rewardName, rewardWeights }: RewardChoice): number | null {
  const named = (name: string): number | null => rewards.find((reward) => reward.name === name)?.value ?? null;
  if (rewardWeights === undefined) return rewardName === undefined ? (rewards[0]?.value ?? null) : named(rewardName);
  const parts = Object.entries(rewardWeights).map(([name, weight]) => ({ weight, value: named(name) }));
  return parts.reduce<number | null>(
    (sum, { weight, value }) => (sum === null || value === null ? null : sum + weight * value),
    0,
  );
}
