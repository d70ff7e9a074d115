/**
 * Shared implementation of the packages of this repository. Not covered by semantic versioning.
 *
 * @module
 */

export { abortControllerWithin, noteSignal } from '../adapter/abort-reasons.ts';
export type { ConversationStart } from '../adapter/conversation-steps.ts';
export { ConversationSteps, contentText } from '../adapter/conversation-steps.ts';
export type { FetchLayer } from '../adapter/fetch-layer.ts';
export { bareFetch, markLayer, positionOfLayers } from '../adapter/fetch-layer.ts';
export { installedVersion } from '../adapter/framework-version.ts';
export { gatewayHeaders, positionOfContext } from '../adapter/gateway-request.ts';
export { layGlobalFetch } from '../adapter/global-fetch.ts';
export { isAsyncIterable, tapIterable } from '../adapter/iterate-within.ts';
export type { LoopStepsOptions } from '../adapter/loop-steps.ts';
export { LoopSteps } from '../adapter/loop-steps.ts';
export type { ReadFetch } from '../adapter/model-request.ts';
export { readFetch } from '../adapter/model-request.ts';
export type { ModuleRequire } from '../adapter/module-requires.ts';
export { loadModule, moduleRequires, resolveModule } from '../adapter/module-requires.ts';
export { openAIPrototype } from '../adapter/openai-client.ts';
export { hasMethod, patchMethods } from '../adapter/patch-method.ts';
export type { GatewayCall } from '../adapter/redirected-fetch.ts';
export {
  headersOf,
  isForGateway,
  isRedirected,
  nextFetch,
  signalOf,
  throughGateway,
} from '../adapter/redirected-fetch.ts';
export { samplingAttributes, usageAttributes, withoutAttributes } from '../adapter/responses/model-call-attributes.ts';
export type { PartsResponse } from '../adapter/responses/parts-response.ts';
export { assistantMessage, partsOf, partsResponseBody } from '../adapter/responses/parts-response.ts';
export { StreamedAnthropicMessage } from '../adapter/responses/streamed-anthropic-message.ts';
export { StreamedParts } from '../adapter/responses/streamed-parts.ts';
export { StreamedResponse } from '../adapter/responses/streamed-response.ts';
export type { ToolCallFields } from '../adapter/responses/tool-call-attributes.ts';
export { toolCallAttributes } from '../adapter/responses/tool-call-attributes.ts';
export { quietly, tryInstrument, warnOnce } from '../adapter/shared-instrumentation.ts';
export { withMembers } from '../adapter/tap-generator.ts';
export { tapResponse } from '../adapter/tap-stream.ts';
export { maxExamples, promptKinds } from '../algorithm/prompt-search.ts';
export type { RecordedTraining, TrainingSpanFields, TrainingStep } from '../algorithm/training-span.ts';
export { trainingFromSpan, trainingToSpan } from '../algorithm/training-span.ts';
export type { AgentLightningErrorOptions } from '../base/agent-lightning-error.ts';
export { systemClock } from '../base/clock.ts';
export { defaultRemedies } from '../base/error-catalogue.ts';
export { errorMessage } from '../base/error-message.ts';
export {
  isObject as isJsonObject,
  numberOf,
  objectsOf,
  parseObject as parseJsonObject,
  textOf,
} from '../base/json-access.ts';
export {
  decodeJsonText,
  findInexactNumber,
  hasUnusualNumbers,
  isRawJson,
  parseKeepingNumbers,
} from '../base/json-text.ts';
export { KeyedMutex } from '../base/keyed-mutex.ts';
export { parse, validationIssues } from '../base/parse.ts';
export { quantityText } from '../base/quantity-text.ts';
export type { BackoffLimits, RetryPolicy } from '../base/retry.ts';
export { backoffMs, isRetryableStatus, isTransient, parseRetryAfterMs, withRetry } from '../base/retry.ts';
export type { Secret, SecretVariable } from '../base/secret.ts';
export { env, formerSecretHint, readSecret } from '../base/secret.ts';
export type { TaskSchema, TaskSchemaIssue, TaskSchemaResult } from '../base/task-schema.ts';
export { validateTask } from '../base/task-schema.ts';
export { alteredSampling } from '../chat-completion/altered-sampling.ts';
export type { CapturedUsage } from '../chat-completion/captured-response.ts';
export { CapturedResponse } from '../chat-completion/captured-response.ts';
export {
  engines,
  promptTokenIdFields,
  requestPromptFields,
  stopFields,
  tokenIdFields,
  tokenIdFlag,
  tokenizeRoute,
} from '../chat-completion/engines.ts';
export { errorMessageOf, httpErrorMessage } from '../chat-completion/error-message.ts';
export { promptImages } from '../chat-completion/prompt-images.ts';
export { ResponseStandardizer } from '../chat-completion/standard-response.ts';
export { StreamedMessage } from '../chat-completion/streamed-message.ts';
export { untrainableReason } from '../chat-completion/untrainable-reason.ts';
export { addressText, withoutPasswords } from '../redaction/address-text.ts';
export { SecretFields } from '../redaction/secret-fields.ts';
export { assertKeyIsEncrypted } from '../server/insecure-key.ts';
export type { HttpExchange } from '../server/whole-requests.ts';
export { respondToWholeRequests } from '../server/whole-requests.ts';
export { agentPathFromText, agentPathText, isAgentAmong } from '../spans/agent-path.ts';
export { toAttributeValue } from '../spans/attribute-value.ts';
export { type CalledModel, calledModel } from '../spans/called-model.ts';
export { exceptionAttributes } from '../spans/exception-attributes.ts';
export type { AnnotationSource, RolloutReview } from '../spans/feedback.ts';
export { annotationSpan, feedbackFromSpan, feedbackSources, feedbackToSpan, findReview } from '../spans/feedback.ts';
export type { FlattenOptions } from '../spans/flatten-attributes.ts';
export { flattenAttributes } from '../spans/flatten-attributes.ts';
export { foreignModelCall, uncapturedModelCall } from '../spans/foreign-model-call.ts';
export { toGenAiOutputMessages } from '../spans/gen-ai-messages.ts';
export { newestPolicyVersion, rolloutModes } from '../spans/model-call.ts';
export { productionFacts, productionMetadata } from '../spans/production-trace.ts';
export { assertRewardsInRange } from '../spans/reward-range.ts';
export { primaryRewardName } from '../spans/reward-spans.ts';
export {
  findScoredOutput,
  type JudgeUse,
  maxOutputLength,
  rewardsOfScores,
  scoredOutputAttributes,
  scoredOutputFromSpan,
} from '../spans/scored-output.ts';
export {
  genAiAttributes,
  modelCallAttributes,
  pythonReaderAttributes,
  trainingAttributes,
} from '../spans/span-attributes.ts';
export { linksFromSpan } from '../spans/span-links.ts';
export type { Fields } from '../spans/unknown-value.ts';
export { fieldsOf, hasFields, plainText } from '../spans/unknown-value.ts';
export type { Activity } from '../telemetry/trace-activity.ts';
export { activityChannel, traceActivity } from '../telemetry/trace-activity.ts';
export { agentPathOf } from '../tracing/agent-path.ts';
export { toRewards } from '../tracing/emit-reward.ts';
export type { PromptArguments, TemplateVariables } from '../tracing/prompt.ts';
export type { PromptValue } from '../tracing/prompt-template.ts';
export { escapeBraces, formatPrompt, promptVariables, strayBrace } from '../tracing/prompt-template.ts';
export { rolloutStorage } from '../tracing/rollout-context.ts';
export type { TracerOptions } from '../tracing/rollout-tracer.ts';
export { createTracer } from '../tracing/rollout-tracer.ts';
