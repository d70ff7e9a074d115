export type { AdvantageEstimate, AdvantageEstimator, RolloutReturn } from './advantage.ts';
export { agentPathFromText, agentPathOf, agentPathText, isAgentAmong } from './agent-path.ts';
export type {
  Algorithm,
  CollectedGroup,
  CollectedRollout,
  ModelUpdate,
  ScoringPolicy,
  ScoringRequest,
  SequenceScores,
  StepContext,
  StepPlan,
} from './algorithm.ts';
export type { Attempt, AttemptStatus } from './attempt.ts';
export { isTerminalAttemptStatus, terminalAttemptStatuses } from './attempt.ts';
export type { AttemptSpansOptions } from './attempt-spans.ts';
export { AttemptSpans } from './attempt-spans.ts';
export { toAttributeValue } from './attribute-value.ts';
export type { CapturedUsage } from './chat-completion/captured-answer.ts';
export { CapturedAnswer } from './chat-completion/captured-answer.ts';
export { errorMessageOf, httpErrorMessage } from './chat-completion/error-message.ts';
export { StreamedMessage } from './chat-completion/streamed-message.ts';
export { untrainableReason } from './chat-completion/untrainable-reason.ts';
export type { Clock } from './clock.ts';
export { systemClock } from './clock.ts';
export type { CreditAssignment } from './credit-assignment.ts';
export type { EmitOptions } from './emit.ts';
export { emitAnnotation, emitException, emitMessage, emitObject } from './emit.ts';
export type { EmitRewardOptions, RewardValue } from './emit-reward.ts';
export { emitReward, primaryRewardName, rewardAttributes, toRewards } from './emit-reward.ts';
export type { AgentLightningErrorOptions } from './errors/agent-lightning-error.ts';
export { AgentLightningError } from './errors/agent-lightning-error.ts';
export type { ErrorCatalogueEntry, ErrorCode } from './errors/error-catalogue.ts';
export { errorCatalogue } from './errors/error-catalogue.ts';
export type { FailureOrigin, RecordedFailure } from './errors/failure-origin.ts';
export {
  attemptFailureOrigin,
  failureMetadata,
  failureOriginOf,
  recordedFailure,
} from './errors/failure-origin.ts';
export { IllegalTransitionError } from './errors/illegal-transition-error.ts';
export { NotFoundError } from './errors/not-found-error.ts';
export type { ValidationIssue } from './errors/validation-error.ts';
export { ValidationError } from './errors/validation-error.ts';
export { exceptionAttributes } from './exception-attributes.ts';
export type { FlattenOptions, NestedAttributes } from './flatten-attributes.ts';
export { flattenAttributes } from './flatten-attributes.ts';
export { toGenAiMessages, toGenAiOutputMessages } from './gen-ai-messages.ts';
export type { IdKind } from './id.ts';
export { newId, newSpanId, newTraceId } from './id.ts';
export type { JoinedModelCall } from './join-model-calls.ts';
export { joinModelCalls } from './join-model-calls.ts';
export type { JsonObject, JsonValue } from './json.ts';
export { isObject as isJsonObject, parseObject as parseJsonObject } from './json-access.ts';
export type { ModelCall, ModelCallChoice } from './model-call.ts';
export { modelCallFromSpan } from './model-call-from-span.ts';
export type { ModelCallInput, ModelCallRecording } from './model-call-span.ts';
export { modelCallToSpan } from './model-call-span.ts';
export type { OperationOptions } from './operation.ts';
export { operation } from './operation.ts';
export { parse } from './parse.ts';
export type { Prompt, PromptArguments, TemplateVariables } from './prompt.ts';
export { definePrompt } from './prompt.ts';
export type {
  JudgedPrompts,
  OptimizerMessage,
  OptimizerRequest,
  PromptSearch,
  PromptSearchBudget,
  PromptSearchContext,
  PromptSearchResult,
  PromptSearchStanding,
  PromptSet,
  PromptTrial,
  TriedTask,
} from './prompt-search.ts';
export type { PromptValue } from './prompt-template.ts';
export { formatPrompt, promptVariables, strayBrace } from './prompt-template.ts';
export { addressText, withoutPasswords } from './redaction/address-text.ts';
export { SecretFields } from './redaction/secret-fields.ts';
export type {
  LlmResource,
  NamedResources,
  PromptTemplateResource,
  ProxyLlmResource,
  Resource,
  ResourcesSnapshot,
} from './resource.ts';
export { attemptBaseUrl } from './resource.ts';
export type { DeletionCounts, RetentionPolicy, RetentionPreview } from './retention.ts';
export type { EmittedReward, Reward } from './reward.ts';
export { assertRewardsInRange, maxRewardMagnitude } from './reward-range.ts';
export type { RewardSpan } from './reward-spans.ts';
export { findFinalReward, findRewards, rewardFromSpan } from './reward-spans.ts';
export type {
  AttemptedRollout,
  EnqueueRolloutRequest,
  Rollout,
  RolloutConfig,
  RolloutMode,
  StartRolloutRequest,
} from './rollout.ts';
export { defaultRolloutConfig, hasAttempt } from './rollout.ts';
export type { RolloutContext, RolloutEndpoint, SpanSink } from './rollout-context.ts';
export { currentRollout, withRollout } from './rollout-context.ts';
export type { RetryPolicy, RolloutStatus } from './rollout-status.ts';
export {
  assertRolloutTransition,
  isTerminalRolloutStatus,
  lostClaimsReasonKey,
  rolloutStatusFromAttempt,
  rolloutTransitions,
  terminalRolloutStatuses,
} from './rollout-status.ts';
export type { TracerOptions } from './rollout-tracer.ts';
export { createTracer, tracer } from './rollout-tracer.ts';
export type { MetricPoint, Run, RunStatus } from './run.ts';
export type { RunStatistics } from './run-statistics.ts';
export type { Attributes, AttributeValue, Span, SpanEvent, SpanInput, SpanLink, SpanStatus } from './span.ts';
export {
  agentLightningAttributes,
  genAiAttributes,
  modelCallAttributes,
  pythonReaderAttributes,
  spanNames,
} from './span-attributes.ts';
export type { AttributeLinks } from './span-links.ts';
export { findLinkedSpans, linkAttributes, linksFromSpan, tagAttributes, tagsFromSpan } from './span-links.ts';
export type { SpanSearch, SpanSearchPage } from './span-search.ts';
export type {
  AttemptPatch,
  AttemptQuery,
  ClaimOptions,
  Page,
  PageOptions,
  ResourcesQuery,
  RolloutPatch,
  RolloutQuery,
  RunPatch,
  SpanQuery,
  Store,
  StoreStatistics,
  WaitOptions,
  WorkerQuery,
} from './store.ts';
export type { StoreChange, WatchOptions } from './store-change.ts';
export type { SpanSinkCounts, SpanSinkFailure, StoreSpanSinkOptions } from './store-span-sink.ts';
export { StoreSpanSink } from './store-span-sink.ts';
export type { ActiveSpan, StartSpanOptions, Tracer } from './tracer.ts';
export type { AdamParameters, LossSpec, TrainingBatch, TrainingDatum } from './training-batch.ts';
export type {
  BatchResult,
  Checkpoint,
  CreateModelOptions,
  ForwardOptions,
  InferenceEndpoint,
  LoraConfig,
  ModelState,
  PendingOperation,
  RuntimeCapabilities,
  RuntimeFeature,
  StepResult,
  TrainableModel,
  TrainingRuntime,
} from './training-runtime.ts';
export type { TrainedInterval, Trajectory, TrajectoryGroup, TrajectoryRow } from './trajectory.ts';
export type { Transition } from './transition.ts';
export { unflattenAttributes } from './unflatten-attributes.ts';
export { withAgent } from './with-agent.ts';
export type { Worker, WorkerStatus } from './worker.ts';
