/**
 * Reading and writing spans: attribute names, model calls, rewards, links, span sinks.
 *
 * @module
 */
export { agentPathFromText, agentPathOf, agentPathText, isAgentAmong } from '../agent-path.ts';
export type { AttemptSpansOptions } from '../attempt-spans.ts';
export { AttemptSpans } from '../attempt-spans.ts';
export { toAttributeValue } from '../attribute-value.ts';
export { primaryRewardName, rewardAttributes, toRewards } from '../emit-reward.ts';
export { exceptionAttributes } from '../exception-attributes.ts';
export type { FlattenOptions, NestedAttributes } from '../flatten-attributes.ts';
export { flattenAttributes } from '../flatten-attributes.ts';
export { toGenAiMessages, toGenAiOutputMessages } from '../gen-ai-messages.ts';
export type { JoinedModelCall } from '../join-model-calls.ts';
export { joinModelCalls } from '../join-model-calls.ts';
export type { ModelCallChoice } from '../model-call.ts';
export { modelCallFromSpan } from '../model-call-from-span.ts';
export type { ModelCallInput, ModelCallRecording } from '../model-call-span.ts';
export { modelCallToSpan } from '../model-call-span.ts';
export { assertRewardsInRange, maxRewardMagnitude } from '../reward-range.ts';
export type { RewardSpan } from '../reward-spans.ts';
export { findFinalReward, findRewards, rewardFromSpan } from '../reward-spans.ts';
export type { SpanEvent, SpanLink } from '../span.ts';
export {
  agentLightningAttributes,
  genAiAttributes,
  modelCallAttributes,
  pythonReaderAttributes,
  spanNames,
} from '../span-attributes.ts';
export type { AttributeLinks } from '../span-links.ts';
export { findLinkedSpans, linkAttributes, linksFromSpan, tagAttributes, tagsFromSpan } from '../span-links.ts';
export type { SpanSinkCounts, SpanSinkFailure, StoreSpanSinkOptions } from '../store-span-sink.ts';
export { StoreSpanSink } from '../store-span-sink.ts';
export { unflattenAttributes } from '../unflatten-attributes.ts';
