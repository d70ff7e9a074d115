import type { EmittedReward, Span } from '@agentlightning/core';
import { genAiAttributes, linksFromSpan } from '@agentlightning/core/internal';
import { findLinkedSpans, findRewards } from '@agentlightning/core/spans';
import { SpanTree } from './call-choice.ts';
import type { Turns } from './turns.ts';

/** Selection or weighting of reward dimensions. */
export interface RewardChoice {
  /** Name of a dimension. @default the primary dimension */
  readonly rewardName?: string;
  /**
   * Weights of dimensions, by name: the reward is the sum of weight times value. Rewards without all of these dimensions are
   * ignored: a missing dimension is not 0.
   *
   * @default one dimension
   */
  readonly rewardWeights?: Readonly<Record<string, number>>;
}

/** The rewards of an attempt. */
export interface TurnRewards {
  /** Reward of each rewarded model call, by sequence id. */
  readonly byCall: ReadonlyMap<number, number>;
  /** Sum of the rewards of each agent, by name: rewards of its turns, and rewards emitted while it was active. */
  readonly byAgent: ReadonlyMap<string, number>;
  /** Reward of the whole attempt; null without one. */
  readonly final: number | null;
  /** Sequence id of the model call that has this reward too; null for none. */
  readonly finalCall: number | null;
  /** Number of rewards before the first model call, which do not belong to a turn. */
  readonly beforeFirstCall: number;
}

/**
 * The reward of an attempt: its last one that has the selected dimensions; null without one.
 *
 * @param spans - the spans of one attempt, in any order
 */
export function finalReward(spans: readonly Span[], choice: RewardChoice = {}): number | null {
  return (
    findRewards(spans)
      .flatMap((emitted) => chosenValue(emitted, choice) ?? [])
      .at(-1) ?? null
  );
}

/**
 * Matches rewards with model calls by link and sequence id, not by time. A reward linked to a span belongs to that span's
 * turn; a reward emitted while an agent was active, to the agent's last call before it; any other reward, to the last call
 * before it. Rewards of the same call are summed. The last reward is the reward of the attempt. It is also the reward of its
 * turn, unless the turn already has one.
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
  const tree = new SpanTree(rewards.length === 0 ? [] : spans);
  const byCall = new Map<number, number>();
  const byAgent = new Map<string, number>();
  let finalCall: number | null = null;
  let beforeFirstCall = 0;
  for (const [index, { emitted, value }] of rewards.entries()) {
    const span = tree.get(emitted.spanId);
    const linked = span === null ? null : turnOfLink(span, spans, turns);
    const agent = linked === null ? agentAround(emitted.spanId, tree, turns) : turns.agentOf(linked);
    if (agent !== null) byAgent.set(agent, (byAgent.get(agent) ?? 0) + value);
    const call = linked ?? turns.before(emitted.sequenceId, agent) ?? turns.before(emitted.sequenceId);
    if (call === null) {
      beforeFirstCall += 1;
      continue;
    }
    const earlier = byCall.get(call);
    const isFinal = index === rewards.length - 1;
    if (isFinal && earlier !== undefined) continue;
    byCall.set(call, (earlier ?? 0) + value);
    if (isFinal) finalCall = call;
  }
  return { byCall, byAgent, final: rewards.at(-1)?.value ?? null, finalCall, beforeFirstCall };
}

function turnOfLink(reward: Span, spans: readonly Span[], turns: Turns): number | null {
  for (const span of findLinkedSpans(spans, linksFromSpan(reward))) {
    if (span !== reward) return turns.ofSpan(span);
  }
  return null;
}

/** The innermost agent around a reward that called a model; null for none. */
function agentAround(spanId: string, tree: SpanTree, turns: Turns): string | null {
  for (const { attributes } of tree.around(spanId)) {
    const name = attributes[genAiAttributes.agentName];
    if (typeof name === 'string' && turns.hasAgent(name)) return name;
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
