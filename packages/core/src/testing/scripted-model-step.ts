import type { JsonObject } from '../json.ts';

/** A tool call as a script writes it. */
export interface ScriptedToolCall {
  /** @default `call_{request}_{index}` */
  readonly id?: string;
  readonly name: string;
  /** A text is sent as it is, so that a script can also answer with broken JSON. */
  readonly arguments: JsonObject | string;
}

/** What a scripted model answers to one request. */
export interface ScriptedAnswer {
  readonly type: 'answer';
  /** @default '' */
  readonly content?: string;
  /** @default [] */
  readonly toolCalls?: readonly ScriptedToolCall[];
  /** Sent as `reasoning_content`. @default none */
  readonly reasoning?: string;
  /** @default `tool_calls`, `length` when the request's limit cut it, or `stop` */
  readonly finishReason?: string;
  /** The answer stops here until this settles or the client goes away. @default nothing to wait for */
  readonly until?: Promise<unknown>;
  /** Where `until` stops a streamed answer. @default 0 before the answer begins */
  readonly pauseAfterChunks?: number;
  /** The connection is cut after so many chunks of a stream; 0 cuts any answer before it begins. @default never */
  readonly cutAfterChunks?: number;
  /** A stream ends with an error event after so many chunks. @default never */
  readonly errorAfterChunks?: number;
  /** Leaves out token ids although the request asked for them, as engines without them do. @default false */
  readonly withoutTokenIds?: boolean;
}

/** An error that a scripted model answers with. */
export interface ScriptedFailure {
  readonly type: 'failure';
  readonly status: number;
  readonly message: string;
  /** Such as `retry-after`. @default {} */
  readonly headers?: Readonly<Record<string, string>>;
}

/** An API that a scripted model speaks. */
export type ScriptedApi = 'chat-completions' | 'responses' | 'embeddings';

/** A request that a scripted model took in and found right. */
export interface ScriptedRequest {
  /** From 0, in order of arrival. */
  readonly index: number;
  readonly api: ScriptedApi;
  /** The path with its query: `/v1/chat/completions`. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: JsonObject;
  /** The `messages` of the body; the `input` of the Responses API in the same form; none for embeddings. */
  readonly messages: readonly JsonObject[];
}

/** One step of a script: an answer, an error, or a function that looks at the request first. */
export type ScriptedStep =
  | ScriptedAnswer
  | ScriptedFailure
  | ((request: ScriptedRequest) => ScriptedAnswer | ScriptedFailure);

/** A step that answers with text. */
export function answer(content: string, options: Omit<ScriptedAnswer, 'type' | 'content'> = {}): ScriptedAnswer {
  return { type: 'answer', content, ...options };
}

/** A step that calls one tool. */
export function callTool(name: string, args: JsonObject | string): ScriptedAnswer {
  return { type: 'answer', toolCalls: [{ name, arguments: args }] };
}

/** A step that fails with an HTTP status. */
export function failWith(
  status: number,
  options: Partial<Omit<ScriptedFailure, 'type' | 'status'>> = {},
): ScriptedFailure {
  return { type: 'failure', status, message: `scripted failure ${status}`, ...options };
}
