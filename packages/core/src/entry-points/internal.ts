/**
 * Shared implementation of the packages of this repository. Not covered by semantic versioning.
 *
 * @module
 */

export { alteredSampling } from '../chat-completion/altered-sampling.ts';
export type { CapturedUsage } from '../chat-completion/captured-response.ts';
export { CapturedResponse, promptTokenFields, tokenIdFields } from '../chat-completion/captured-response.ts';
export { errorMessageOf, httpErrorMessage } from '../chat-completion/error-message.ts';
export { ResponseStandardizer } from '../chat-completion/standard-response.ts';
export { StreamedMessage } from '../chat-completion/streamed-message.ts';
export { untrainableReason } from '../chat-completion/untrainable-reason.ts';
export { systemClock } from '../clock.ts';
export type { AgentLightningErrorOptions } from '../errors/agent-lightning-error.ts';
export type { ErrorCatalogueEntry } from '../errors/error-catalogue.ts';
export { errorCatalogue } from '../errors/error-catalogue.ts';
export { isObject as isJsonObject, parseObject as parseJsonObject } from '../json-access.ts';
export { decodeJsonText, findInexactInteger, isRawJson } from '../json-text.ts';
export { KeyedMutex } from '../keyed-mutex.ts';
export { parse, validationIssues } from '../parse.ts';
export { quantityText } from '../quantity-text.ts';
export { addressText, withoutPasswords } from '../redaction/address-text.ts';
export { SecretFields } from '../redaction/secret-fields.ts';
export type { BackoffLimits, RetryPolicy } from '../retry.ts';
export { backoffMs, isRetryableStatus, isTransient, parseRetryAfterMs, withRetry } from '../retry.ts';
export { assertKeyIsEncrypted } from '../server/insecure-key.ts';
export type { Activity } from '../telemetry/trace-activity.ts';
export { activityChannel, traceActivity } from '../telemetry/trace-activity.ts';
export type { PromptArguments, TemplateVariables } from '../tracing/prompt.ts';
export type { PromptValue } from '../tracing/prompt-template.ts';
export { formatPrompt, promptVariables, strayBrace } from '../tracing/prompt-template.ts';
