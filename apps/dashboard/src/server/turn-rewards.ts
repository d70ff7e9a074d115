import type { Reward, Span } from '@agentlightning/core';
import { findRewards, linksFromSpan, rewardFromSpan, spanNames } from '@agentlightning/core/spans';

/**
 * The rewards of an attempt by model call: those that the agent emitted after the call and before the next one, without the
 * final reward, and those that rules gave to the steps of its turn.
 *
 * @param callSequences - the sequence ids of the model calls
 * @returns the rewards by the sequence id of the call
 */
export function turnRewards(
  spans: readonly Span[],
  callSequences: readonly number[],
): ReadonlyMap<number, readonly Reward[]> {
  const ordered = [...callSequences].sort((one, other) => one - other);
  const byCall = new Map<number, Reward[]>();
  const add = (sequenceId: number, rewards: readonly Reward[]): void => {
    const call = ordered.findLast((each) => each <= sequenceId);
    if (call !== undefined) byCall.set(call, [...(byCall.get(call) ?? []), ...rewards]);
  };
  for (const { sequenceId, rewards } of findRewards(spans).slice(0, -1)) add(sequenceId, rewards);
  const sequences = new Map(spans.map(({ spanId, sequenceId }) => [spanId, sequenceId]));
  for (const span of spans) {
    if (span.name !== spanNames.intermediateReward) continue;
    const judged = linksFromSpan(span)['span_id'];
    const sequenceId = typeof judged === 'string' ? sequences.get(judged) : undefined;
    // The span has the attributes of a reward, under a name that keeps it from being one of the attempt.
    const rewards = rewardFromSpan({ ...span, name: spanNames.annotation })?.rewards ?? [];
    if (sequenceId !== undefined) add(sequenceId, rewards);
  }
  return byCall;
}
