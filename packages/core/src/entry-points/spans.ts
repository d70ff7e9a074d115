/**
 * Reading and writing spans: attribute names, model calls, rewards, links, span sinks.
 *
 * @module
 */

export type { Feedback, FeedbackInput, FeedbackSource, Judgement, RolloutLabel } from '../spans/feedback.ts';
export { findFeedback } from '../spans/feedback.ts';
export type { NestedAttributes } from '../spans/flatten-attributes.ts';
export type { JoinedModelCall } from '../spans/join-model-calls.ts';
export { joinModelCalls } from '../spans/join-model-calls.ts';
export type { ModelCallChoice } from '../spans/model-call.ts';
export { modelCallFromSpan } from '../spans/model-call-from-span.ts';
export type { ModelCallInput, ModelCallRecording } from '../spans/model-call-span.ts';
export { modelCallToSpan } from '../spans/model-call-span.ts';
export type { ProductionTrace } from '../spans/production-trace.ts';
export { readProductionMetadata } from '../spans/production-trace.ts';
export type { RewardSpan } from '../spans/reward-spans.ts';
export { findFinalReward, findRewards, rewardAttributes, rewardFromSpan } from '../spans/reward-spans.ts';
export type { PartScore, ScoredOutput } from '../spans/scored-output.ts';
export type { SpanEvent, SpanLink } from '../spans/span.ts';
export { agentLightningAttributes, productionAttributes, spanNames } from '../spans/span-attributes.ts';
export type { AttributeLinks } from '../spans/span-links.ts';
export { findLinkedSpans, linkAttributes, tagAttributes, tagsFromSpan } from '../spans/span-links.ts';
export { unflattenAttributes } from '../spans/unflatten-attributes.ts';
export type { AttemptSpansOptions } from '../tracing/attempt-spans.ts';
export { AttemptSpans } from '../tracing/attempt-spans.ts';
export type { SpanSinkCounts, SpanSinkFailure, StoreSpanSinkOptions } from '../tracing/store-span-sink.ts';
export { StoreSpanSink } from '../tracing/store-span-sink.ts';
