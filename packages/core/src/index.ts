export type { AdvantageEstimator } from './algorithm/advantage.ts';
export type { Algorithm } from './algorithm/algorithm.ts';
export type { CreditAssignment } from './algorithm/credit-assignment.ts';
export type { PromptSearch } from './algorithm/prompt-search.ts';
export { AgentLightningError } from './base/agent-lightning-error.ts';
export type { Clock } from './base/clock.ts';
export type { ErrorCode } from './base/error-catalogue.ts';
export { IllegalTransitionError } from './base/illegal-transition-error.ts';
export type { JsonObject, JsonValue } from './base/json.ts';
export { NotFoundError } from './base/not-found-error.ts';
export type { ValidationIssue } from './base/validation-error.ts';
export { ValidationError } from './base/validation-error.ts';
export type { ModelCall, RolloutMode } from './spans/model-call.ts';
export type { EmittedReward, Reward } from './spans/reward.ts';
export type { Attributes, AttributeValue, Span, SpanInput, SpanStatus } from './spans/span.ts';
export type { Attempt, AttemptStatus } from './store/attempt.ts';
export type {
  LlmResource,
  NamedResources,
  PromptTemplateResource,
  ProxyLlmResource,
  Resource,
} from './store/resource.ts';
export type { AttemptedRollout, Rollout, RolloutConfig } from './store/rollout.ts';
export type { RolloutStatus } from './store/rollout-status.ts';
export type { Run } from './store/run.ts';
export type { Store } from './store/store.ts';
export type { EmitOptions } from './tracing/emit.ts';
export { emitAnnotation, emitException, emitMessage, emitObject } from './tracing/emit.ts';
export type { EmitRewardOptions, RewardValue } from './tracing/emit-reward.ts';
export { emitReward } from './tracing/emit-reward.ts';
export type { NamedFunction, NamingDecorator } from './tracing/named-steps.ts';
export { agent, tool } from './tracing/named-steps.ts';
export type { OperationOptions } from './tracing/operation.ts';
export { operation } from './tracing/operation.ts';
export type { Prompt } from './tracing/prompt.ts';
export { definePrompt } from './tracing/prompt.ts';
export type { RolloutContext, RolloutEndpoint, SpanSink } from './tracing/rollout-context.ts';
export { currentRollout, withRollout } from './tracing/rollout-context.ts';
export type { TracerOptions } from './tracing/rollout-tracer.ts';
export { createTracer, tracer } from './tracing/rollout-tracer.ts';
export type { ActiveSpan, StartSpanOptions, Tracer } from './tracing/tracer.ts';
export { withAgent } from './tracing/with-agent.ts';
export type { TrainingRuntime } from './training-runtime/training-runtime.ts';
