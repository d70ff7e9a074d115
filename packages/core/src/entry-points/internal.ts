/**
 * Shared implementation of the packages of this repository. Not covered by semantic versioning.
 *
 * @module
 */

export type { AgentLightningErrorOptions } from '../base/agent-lightning-error.ts';
export { systemClock } from '../base/clock.ts';
export { defaultRemedies } from '../base/error-catalogue.ts';
export { errorMessage } from '../base/error-message.ts';
export { isObject as isJsonObject, parseObject as parseJsonObject } from '../base/json-access.ts';
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
export { ResponseStandardizer } from '../chat-completion/standard-response.ts';
export { StreamedMessage } from '../chat-completion/streamed-message.ts';
export { untrainableReason } from '../chat-completion/untrainable-reason.ts';
export { addressText, withoutPasswords } from '../redaction/address-text.ts';
export { SecretFields } from '../redaction/secret-fields.ts';
export { assertKeyIsEncrypted } from '../server/insecure-key.ts';
export type { HttpExchange } from '../server/whole-requests.ts';
export { respondToWholeRequests } from '../server/whole-requests.ts';
export type { Activity } from '../telemetry/trace-activity.ts';
export { activityChannel, traceActivity } from '../telemetry/trace-activity.ts';
export type { PromptArguments, TemplateVariables } from '../tracing/prompt.ts';
export type { PromptValue } from '../tracing/prompt-template.ts';
export { formatPrompt, promptVariables, strayBrace } from '../tracing/prompt-template.ts';
