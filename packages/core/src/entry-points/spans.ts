/**
 * Reading and writing spans: attribute names, model calls, rewards, links, span sinks.
 *
 * @module
 */

export type { RecordedTraining, TrainingSpanFields, TrainingStep } from '../algorithm/training-span.ts';
export { trainingFromSpan, trainingToSpan } from '../algorithm/training-span.ts';
export { agentPathFromText, agentPathText, isAgentAmong } from '../spans/agent-path.ts';
export { toAttributeValue } from '../spans/attribute-value.ts';
export { type CalledModel, calledModel } from '../spans/called-model.ts';
export { exceptionAttributes } from '../spans/exception-attributes.ts';
export type { FlattenOptions, NestedAttributes } from '../spans/flatten-attributes.ts';
export { flattenAttributes } from '../spans/flatten-attributes.ts';
export { foreignModelCall } from '../spans/foreign-model-call.ts';
export { toGenAiOutputMessages } from '../spans/gen-ai-messages.ts';
export type { JoinedModelCall } from '../spans/join-model-calls.ts';
export { joinModelCalls } from '../spans/join-model-calls.ts';
export type { ModelCallChoice } from '../spans/model-call.ts';
export { newestPolicyVersion } from '../spans/model-call.ts';
export { modelCallFromSpan } from '../spans/model-call-from-span.ts';
export type { ModelCallInput, ModelCallRecording } from '../spans/model-call-span.ts';
export { modelCallToSpan } from '../spans/model-call-span.ts';
export { assertRewardsInRange } from '../spans/reward-range.ts';
export type { RewardSpan } from '../spans/reward-spans.ts';
export { findFinalReward, findRewards, rewardFromSpan } from '../spans/reward-spans.ts';
export type {
  AnnotationSource,
  RolloutAnnotation,
  RolloutAnnotations,
  RolloutLabel,
} from '../spans/rollout-annotation.ts';
export { annotationFromSpan, annotationSpan, annotationToSpan, findAnnotations } from '../spans/rollout-annotation.ts';
export type { PartScore, ScoredOutput } from '../spans/scored-output.ts';
export {
  findScoredOutput,
  maxOutputLength,
  rewardsOfScores,
  scoredOutputAttributes,
  scoredOutputFromSpan,
} from '../spans/scored-output.ts';
export type { SpanEvent, SpanLink } from '../spans/span.ts';
export {
  agentLightningAttributes,
  genAiAttributes,
  modelCallAttributes,
  pythonReaderAttributes,
  spanNames,
  trainingAttributes,
} from '../spans/span-attributes.ts';
export type { AttributeLinks } from '../spans/span-links.ts';
export { findLinkedSpans, linkAttributes, linksFromSpan, tagAttributes, tagsFromSpan } from '../spans/span-links.ts';
export { unflattenAttributes } from '../spans/unflatten-attributes.ts';
export { agentPathOf } from '../tracing/agent-path.ts';
export type { AttemptSpansOptions } from '../tracing/attempt-spans.ts';
export { AttemptSpans } from '../tracing/attempt-spans.ts';
export { primaryRewardName, rewardAttributes, toRewards } from '../tracing/emit-reward.ts';
export type { SpanSinkCounts, SpanSinkFailure, StoreSpanSinkOptions } from '../tracing/store-span-sink.ts';
export { StoreSpanSink } from '../tracing/store-span-sink.ts';
