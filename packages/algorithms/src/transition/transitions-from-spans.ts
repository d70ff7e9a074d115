import type { ModelCall, Span } from '@agentlightning/core';
import { ValidationError } from '@agentlightning/core';
import type { Transition } from '@agentlightning/core/algorithm';
import { promptImages } from '@agentlightning/core/internal';
import type { ModelCallChoice } from '@agentlightning/core/spans';
import { countReasons, type ReasonCounts } from '../base/reason-counts.ts';
import { type CallChoice, CallChooser } from './call-choice.ts';
import { capturedCalls } from './captured-calls.ts';
import { intermediateRewards } from './intermediate-rewards.ts';
import type { RewardRule } from './reward-rule.ts';
import { type RewardChoice, turnRewards } from './turn-rewards.ts';
import { Turns } from './turns.ts';

/** Log-probabilities are at most 0; engines round. */
const logprobTolerance = 1e-3;

/** Reason why a choice of a model call cannot be trained on; null when it can. */
function exclusionReason(call: ModelCall, choice: ModelCallChoice, images: readonly string[]): string | null {
  const { responseTokenIds, responseLogprobs } = choice;
  if (!call.isTrainable) return call.untrainableReason ?? 'untrainable';
  if (call.promptTokenIds.length === 0) return 'no_prompt_tokens';
  if ((call.imageCount ?? 0) !== images.length) return 'missing_images';
  if (responseTokenIds.length === 0) return 'empty_response';
  if (responseLogprobs.length !== responseTokenIds.length) return 'missing_logprobs';
  if (!responseLogprobs.every((logprob) => Number.isFinite(logprob) && logprob <= logprobTolerance)) {
    return 'invalid_logprobs';
  }
  // A greedy choice was not sampled from the policy's distribution, so it has no probability ratio.
  if (!(call.temperature > 0)) return 'greedy';
  return null;
}

/** Selection of transitions, rewards and model calls. */
export interface TransitionOptions extends RewardChoice, CallChoice {
  /**
   * Reward of rollouts without one. A missing reward is not 0: a failed evaluation does not measure the agent.
   * In the configuration of a training it is `reward.missing`.
   *
   * @default none: the rollout is not trained on
   */
  readonly missingReward?: number;
  /** Rules for intermediate rewards; see `air`. @default none */
  readonly intermediateRewards?: readonly RewardRule[];
}

/** The transitions of one attempt, and counts of excluded data. */
export interface CollectedTransitions {
  /** In order of sequence id; the choices of one call in order of index. */
  readonly transitions: readonly Transition[];
  /** The reward of the whole attempt; null without one, which is not zero. */
  readonly finalReward: number | null;
  /** Sequence id of the model call whose turn has this reward too, trained on or not; null for none. */
  readonly rewardedCall: number | null;
  /** Sum of the rewards of each agent, by name; see {@link byAgentCredit}. */
  readonly agentRewards: Readonly<Record<string, number>>;
  /** Number of captured model calls, including excluded calls. */
  readonly modelCalls: number;
  /** Number of choices that are not trained on, by reason, such as `partial` or `empty_response`. */
  readonly excluded: ReasonCounts;
  /** Number of rewards without a transition: before the first call, or after an excluded call. */
  readonly unassignedRewards: number;
}

/**
 * Converts the spans of one attempt to transitions, one per sampled completion.
 *
 * Rewards are matched by link, by agent, and by sequence id: a reward between two calls belongs to the turn of the first,
 * and the last reward is the reward of the attempt. Every choice of a call with `n > 1` is a separate transition with the
 * reward of the turn.
 *
 * @param spans - the spans of one attempt, in any order
 * @throws ValidationError when the spans belong to more than one attempt
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
    const images = imagesOf(call);
    for (const choice of call.choices) {
      const reason = notChosen ?? exclusionReason(call, choice, images);
      if (reason !== null) reasons.push(reason);
      else transitions.push(transition(call, choice, { reward: byCall.get(call.sequenceId) ?? null, images }));
    }
  }
  const rewarded = new Set(transitions.map(({ sequenceId }) => sequenceId));
  return {
    transitions,
    finalReward: rewards.final ?? options.missingReward ?? null,
    rewardedCall: rewards.finalCall,
    agentRewards: Object.fromEntries(byAgent),
    modelCalls: calls.length,
    excluded: countReasons(reasons),
    unassignedRewards: rewards.beforeFirstCall + [...byCall.keys()].filter((call) => !rewarded.has(call)).length,
  };
}

/** The images of a call; only the request of a call that has any is parsed. */
function imagesOf(call: ModelCall): readonly string[] {
  return call.imageCount ? promptImages(call.request ?? {}).filter((url) => url !== null) : [];
}

function transition(
  call: ModelCall,
  choice: ModelCallChoice,
  { reward, images }: { readonly reward: number | null; readonly images: readonly string[] },
): Transition {
  const { responsePolicyVersions: versions } = choice;
  return {
    rolloutId: call.rolloutId,
    attemptId: call.attemptId,
    spanId: call.spanId,
    sequenceId: call.sequenceId,
    agentName: call.agentName,
    agentPath: call.agentPath,
    promptTokenIds: call.promptTokenIds,
    ...(images.length > 0 ? { images } : {}),
    responseTokenIds: choice.responseTokenIds,
    responseLogprobs: choice.responseLogprobs.map((logprob) => Math.min(0, logprob)),
    temperature: call.temperature,
    // The oldest token of the call can be in another choice.
    policyVersion: versions?.reduce((oldest, version) => Math.min(oldest, version)) ?? call.policyVersion,
    ...(versions && { responsePolicyVersions: versions }),
    reward,
  };
}

function assertOneAttempt(spans: readonly Span[]): void {
  const attempts = [...new Set(spans.map((span) => `${span.rolloutId}/${span.attemptId}`))];
  if (attempts.length <= 1) return;
  throw new ValidationError('The list of spans', [
    {
      path: '',
      message: `it has spans of ${attempts.length} attempts (${attempts.slice(0, 3).join(', ')}); give spans of one attempt`,
    },
  ]);
}
