import type { ModelCall, Span } from '@agentlightning/core';
import { ValidationError } from '@agentlightning/core';
import type { Transition } from '@agentlightning/core/algorithm';
import type { ModelCallChoice } from '@agentlightning/core/spans';
import { intermediateRewards } from '../intermediate-reward/intermediate-rewards.ts';
import type { RewardRule } from '../intermediate-reward/reward-rule.ts';
import { type Tally, tallyOf } from '../tally.ts';
import { type CallChoice, CallChooser } from './call-choice.ts';
import { capturedCalls } from './captured-calls.ts';
import { exclusionReason } from './exclusion-reason.ts';
import { type RewardChoice, turnRewards } from './turn-rewards.ts';
import { Turns } from './turns.ts';

/** What of an attempt's spans becomes transitions. */
export interface TransitionOptions extends RewardChoice, CallChoice {
  /**
   * What a rollout without a reward counts as. Missing is not 0: an evaluation that failed says nothing of the agent.
   *
   * @default none, and the rollout is not learnt from
   */
  readonly missingReward?: number;
  /** Rewards for steps on the way, found in the spans by rules; see `air`. @default none */
  readonly intermediateRewards?: readonly RewardRule[];
}

/** The transitions of one attempt, and what was left out. */
export interface CollectedTransitions {
  /** In order of sequence id; the choices of one call in order of index. */
  readonly transitions: readonly Transition[];
  /** The reward of the whole attempt; null when there was none, which is not zero. */
  readonly finalReward: number | null;
  /** The model call of whose turn it is the reward as well, by sequence id, trained on or not; null when it is of none. */
  readonly rewardedCall: number | null;
  /** The sum of the rewards that were meant for each agent, by its name; see {@link byAgentCredit}. */
  readonly agentRewards: Readonly<Record<string, number>>;
  /** How many model calls were captured, those that were left out included. */
  readonly modelCalls: number;
  /** Choices of calls that are not trained on, by reason, such as `partial` or `empty_response`. */
  readonly excluded: Tally;
  /** Rewards that no transition has: they came before the first call, or after one that was left out. */
  readonly unassignedRewards: number;
}

/**
 * Turns the spans of one attempt into transitions: one for each answer that the policy sampled.
 *
 * Rewards are matched by their links, by the agent that they were emitted in, and by sequence id: one that comes after a
 * call and before the next is the reward of that turn, and the last one of all is the reward of the attempt. Every choice of a call with `n > 1` is a
 * separate transition, with the reward of the turn.
 *
 * @param spans - the spans of one attempt, in any order
 * @throws ValidationError when the spans are of more than one attempt
 *
 * @example
 * ```ts
 * const { transitions, finalReward, excluded } = transitionsFromSpans(spans);
 * ```
 */
export function transitionsFromSpans(spans: readonly Span[], options: TransitionOptions = {}): CollectedTransitions {
  assertOneAttempt(spans);
  const captured = capturedCalls(spans);
  const { calls, duplicates } = captured;
  const turns = new Turns(captured);
  const rewards = turnRewards(spans, turns, options);
  const byCall = new Map(rewards.byCall);
  const byAgent = new Map(rewards.byAgent);
  const agentBySequence = new Map(calls.map(({ sequenceId, agentName }) => [sequenceId, agentName]));
  for (const { sequenceId, value } of intermediateRewards(spans, { calls, turns }, options.intermediateRewards ?? [])) {
    if (sequenceId === null) continue;
    byCall.set(sequenceId, (byCall.get(sequenceId) ?? 0) + value);
    const agent = agentBySequence.get(sequenceId) ?? null;
    if (agent !== null) byAgent.set(agent, (byAgent.get(agent) ?? 0) + value);
  }
  const transitions: Transition[] = [];
  const reasons: string[] = Array.from({ length: duplicates }, () => 'duplicate');
  const chooser = new CallChooser(captured, options);
  for (const call of calls) {
    const notChosen = chooser.reasonAgainst(call);
    for (const choice of call.choices) {
      const reason = notChosen ?? exclusionReason(call, choice);
      if (reason !== null) reasons.push(reason);
      else transitions.push(transition(call, choice, byCall.get(call.sequenceId) ?? null));
    }
  }
  const rewarded = new Set(transitions.map(({ sequenceId }) => sequenceId));
  return {
    transitions,
    finalReward: rewards.final ?? options.missingReward ?? null,
    rewardedCall: rewards.finalCall,
    agentRewards: Object.fromEntries(byAgent),
    modelCalls: calls.length,
    excluded: tallyOf(reasons),
    unassignedRewards: rewards.beforeFirstCall + [...byCall.keys()].filter((call) => !rewarded.has(call)).length,
  };
}

function transition(call: ModelCall, choice: ModelCallChoice, reward: number | null): Transition {
  return {
    rolloutId: call.rolloutId,
    attemptId: call.attemptId,
    spanId: call.spanId,
    sequenceId: call.sequenceId,
    agentName: call.agentName,
    agentPath: call.agentPath,
    promptTokenIds: call.promptTokenIds,
    responseTokenIds: choice.responseTokenIds,
    responseLogprobs: choice.responseLogprobs.map((logprob) => Math.min(0, logprob)),
    temperature: call.temperature,
    policyVersion: call.policyVersion,
    reward,
  };
}

function assertOneAttempt(spans: readonly Span[]): void {
  const attempts = [...new Set(spans.map((span) => `${span.rolloutId}/${span.attemptId}`))];
  if (attempts.length <= 1) return;
  throw new ValidationError('The list of spans', [
    {
      path: '',
      message: `it has spans of ${attempts.length} attempts (${attempts.slice(0, 3).join(', ')}); give those of one`,
    },
  ]);
}
