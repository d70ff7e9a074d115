/**
 * What of the AI SDK's events is read here. Both majors have these fields under these names; the ones that only one has,
 * or that a user's privacy settings leave out, are optional.
 *
 * @module
 */

/** Fields that every event of version 7 has. */
export interface SdkEvent {
  /** Links all events of one `generateText`, `embed`, …; absent in version 6. */
  readonly callId?: string | undefined;
  /** `telemetry.functionId`, as the user named the call. */
  readonly functionId?: string | undefined;
  readonly recordInputs?: boolean | undefined;
  readonly recordOutputs?: boolean | undefined;
}

/** The settings of a model call that are recorded. */
export interface SdkCallSettings {
  readonly temperature?: number | undefined;
  readonly topP?: number | undefined;
  readonly maxOutputTokens?: number | undefined;
  readonly seed?: number | undefined;
}

/** A prompt in any of the forms that events have it in. */
export interface SdkPrompt extends SdkCallSettings {
  readonly modelId?: string | undefined;
  /** Version 6 has it in place of `provider` and `modelId`. */
  readonly model?: { readonly provider?: string; readonly modelId?: string } | undefined;
  readonly instructions?: unknown;
  readonly system?: unknown;
  readonly prompt?: unknown;
  readonly messages?: unknown;
  /** A list of definitions, or the user's tools by name. */
  readonly tools?: unknown;
}

/** An operation has begun: a call of `generateText`, `streamText`, `generateObject`, `embed`, … */
export interface SdkStart extends SdkEvent, SdkPrompt {
  readonly operationId?: string | undefined;
  readonly provider?: string | undefined;
  readonly maxRetries?: number | undefined;
}

/** A model was asked once more. */
export interface SdkStepStart extends SdkEvent, SdkPrompt {
  readonly stepNumber?: number | undefined;
  /** The prompt of `generateObject`. */
  readonly promptMessages?: unknown;
}

/** What a model answered, in any of the forms that events and providers have it in. */
export interface SdkAnswer {
  readonly responseId?: string | undefined;
  readonly modelId?: string | undefined;
  readonly response?: { readonly id?: string | undefined; readonly modelId?: string | undefined } | undefined;
  readonly content?: unknown;
  /** The answer of `generateObject`. */
  readonly objectText?: string | undefined;
  readonly finishReason?: unknown;
  readonly usage?: unknown;
}

/** A step, or the model call in it, has ended. */
export interface SdkAnswerEvent extends SdkEvent, SdkAnswer {
  readonly stepNumber?: number | undefined;
}

/** A tool is called, or has answered. */
export interface SdkToolEvent extends SdkEvent {
  readonly toolCall: { readonly toolCallId: string; readonly toolName: string; readonly input?: unknown };
  readonly messages?: unknown;
  /** Version 7: what came of it. */
  readonly toolOutput?: { readonly type?: string; readonly output?: unknown; readonly error?: unknown } | undefined;
  /** Version 6: what came of it. */
  readonly output?: unknown;
  readonly error?: unknown;
}

/** Embeddings are asked for, or have come. */
export interface SdkEmbedEvent extends SdkEvent {
  readonly embedCallId: string;
  readonly modelId?: string | undefined;
  readonly usage?: unknown;
}

/** An operation failed or was aborted. */
export interface SdkFailure extends SdkEvent {
  readonly error?: unknown;
  readonly reason?: unknown;
}

/** What the telemetry's wrapper of tools is given. */
export interface SdkExecution<TResult> extends SdkEvent {
  readonly toolCallId?: string | undefined;
  readonly execute: () => PromiseLike<TResult>;
}

/** What the telemetry's wrapper of requests is given. */
export interface SdkModelExecution<TResult> extends SdkStepStart {
  readonly execute: () => PromiseLike<TResult>;
}
