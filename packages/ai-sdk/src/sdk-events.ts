/**
 * The fields that are read of the AI SDK's events. Both versions use the same names; fields that only one version has, or
 * that privacy settings omit, are optional.
 *
 * @module
 */
import type { PartsResponse } from '@agentlightning/core/internal';

/** The fields common to all events of version 7. */
export interface SdkEvent {
  /** Links all events of one `generateText`, `embed`, …; absent in version 6. */
  readonly callId?: string | undefined;
  /** `telemetry.functionId` of the call. */
  readonly functionId?: string | undefined;
  readonly recordInputs?: boolean | undefined;
  readonly recordOutputs?: boolean | undefined;
}

/** The recorded settings of a model call. */
export interface SdkCallSettings {
  readonly temperature?: number | undefined;
  readonly topP?: number | undefined;
  readonly maxOutputTokens?: number | undefined;
  readonly seed?: number | undefined;
}

/** A prompt in any of the formats used by events. */
export interface SdkPrompt extends SdkCallSettings {
  readonly modelId?: string | undefined;
  /** Replaces `provider` and `modelId` in version 6. */
  readonly model?: { readonly provider?: string; readonly modelId?: string } | undefined;
  readonly instructions?: unknown;
  readonly system?: unknown;
  readonly prompt?: unknown;
  readonly messages?: unknown;
  /** A list of definitions, or an object of tools by name. */
  readonly tools?: unknown;
}

/** The start of an operation: a call of `generateText`, `streamText`, `generateObject`, `embed`, … */
export interface SdkStart extends SdkEvent, SdkPrompt {
  readonly operationId?: string | undefined;
  readonly provider?: string | undefined;
  readonly maxRetries?: number | undefined;
}

/** The start of a step with one model call. */
export interface SdkStepStart extends SdkEvent, SdkPrompt {
  readonly stepNumber?: number | undefined;
  /** The prompt of `generateObject`. */
  readonly promptMessages?: unknown;
}

/** The end of a step or of its model call. */
export interface SdkResponseEvent extends SdkEvent, PartsResponse {
  readonly stepNumber?: number | undefined;
}

/** The start or the end of a tool call. */
export interface SdkToolEvent extends SdkEvent {
  readonly toolCall: { readonly toolCallId: string; readonly toolName: string; readonly input?: unknown };
  readonly messages?: unknown;
  /** The outcome in version 7. */
  readonly toolOutput?: { readonly type?: string; readonly output?: unknown; readonly error?: unknown } | undefined;
  /** The outcome in version 6. */
  readonly output?: unknown;
  readonly error?: unknown;
}

/** The start or the end of an embedding request. */
export interface SdkEmbedEvent extends SdkEvent {
  readonly embedCallId: string;
  readonly modelId?: string | undefined;
  readonly usage?: unknown;
}

/** An error or an abort of an operation. */
export interface SdkFailure extends SdkEvent {
  readonly error?: unknown;
  readonly reason?: unknown;
}

/** The arguments of the telemetry's tool wrapper. */
export interface SdkExecution<TResult> extends SdkEvent {
  readonly toolCallId?: string | undefined;
  readonly execute: () => PromiseLike<TResult>;
}

/** The arguments of the telemetry's request wrapper. */
export interface SdkModelExecution<TResult> extends SdkStepStart {
  readonly execute: () => PromiseLike<TResult>;
}
