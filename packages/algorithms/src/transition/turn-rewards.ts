import type { EmittedReward, Span } from '@agentlightning/core';
import { findLinkedSpans, findRewards, genAiAttributes, linksFromSpan } from '@agentlightning/core/spans';
import { SpanTree } from './span-tree.ts';
import type { Turns } from './turns.ts';

/** Which number of a reward with several dimensions is learnt from. */
export interface RewardChoice {
  /** One dimension by name. @default the primary one */
  readonly rewardName?: string;
  /**
   * Several dimensions by name, as the sum of weight times value. A reward that lacks one of them does not count: a
   * missing dimension is not 0.
   *
   * @default one dimension
   */
  readonly rewardWeights?: Readonly<Record<string, number>>;
}

/** What an attempt's reward spans say, in order of sequence id. */
export interface TurnRewards {
  /** The reward of each model call that was given one, by the call's sequence id. */
  readonly byCall: ReadonlyMap<number, number>;
  /** The sum of the rewards that were meant for each agent, by its name: of its turns, or emitted while it was at work. */
  readonly byAgent: ReadonlyMap<string, number>;
  /** The reward of the whole attempt; null when it has none. */
  readonly final: number | null;
  /** The model call that got it as its own as well, by sequence id; null when none did. */
  readonly finalCall: number | null;
  /** How many rewards came before the first model call, so that they belong to no turn. */
  readonly beforeFirstCall: number;
}

/**
 * Matches rewards with model calls, never by clock. A reward that is linked to a span belongs to that span's turn; one that
 * was emitted while an agent was at work, to the agent's last call before it by sequence id; any other, to the last call of
 * all before it. Several that belong to one call are added up. The last reward of all is the reward of the attempt. It is
 * that of its turn as well, unless the turn was given one before: then the last one, often what the agent returned, judges
 * the attempt only.
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

/** The innermost agent that a reward was emitted in, of those that called a model; null for none of them. */
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
