import type { JsonObject } from '../base/json.ts';

/** A tool call in a script. */
export interface ScriptedToolCall {
  /** @default `call_{request}_{index}` */
  readonly id?: string;
  readonly name: string;
  /** A string is sent unchanged, which permits invalid JSON. */
  readonly arguments: JsonObject | string;
}

/** A scripted response. */
export interface ScriptedResponse {
  readonly type: 'response';
  /** @default '' */
  readonly content?: string;
  /** @default [] */
  readonly toolCalls?: readonly ScriptedToolCall[];
  /** Sent as `reasoning_content`. @default none */
  readonly reasoning?: string;
  /** @default `tool_calls`, `length` when truncated by the request's limit, or `stop` */
  readonly finishReason?: string;
  /** The response pauses until this settles or the client disconnects. @default no pause */
  readonly until?: Promise<unknown>;
  /** Number of chunks before the pause of a streamed response. @default 0 before the response starts */
  readonly pauseAfterChunks?: number;
  /** Number of chunks before the connection is closed; 0 closes it before any response. @default never */
  readonly cutAfterChunks?: number;
  /** Number of chunks before an error event ends the stream. @default never */
  readonly errorAfterChunks?: number;
  /** Omits requested token ids, like engines without support for them. @default false */
  readonly withoutTokenIds?: boolean;
}

/** A scripted error response. */
export interface ScriptedFailure {
  readonly type: 'failure';
  readonly status: number;
  readonly message: string;
  /** Additional headers, such as `retry-after`. @default {} */
  readonly headers?: Readonly<Record<string, string>>;
}

/** An API of the scripted model. */
export type ScriptedApi = 'chat-completions' | 'responses' | 'messages' | 'embeddings';

/** A valid request that the scripted model received. */
export interface ScriptedRequest {
  /** From 0, in order of arrival. */
  readonly index: number;
  readonly api: ScriptedApi;
  /** The path with its query: `/v1/chat/completions`. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: JsonObject;
  /** The `messages` of the body, converted for the Responses and Messages APIs; empty for embeddings. */
  readonly messages: readonly JsonObject[];
}

/** One step of a script: a response, an error, or a function of the request. */
export type ScriptedStep =
  | ScriptedResponse
  | ScriptedFailure
  | ((request: ScriptedRequest) => ScriptedResponse | ScriptedFailure);

/** A step with a text response. */
export function respondWith(
  content: string,
  options: Omit<ScriptedResponse, 'type' | 'content'> = {},
): ScriptedResponse {
  return { type: 'response', content, ...options };
}

/** A step with one tool call. */
export function callTool(name: string, args: JsonObject | string): ScriptedResponse {
  return { type: 'response', toolCalls: [{ name, arguments: args }] };
}

/** A step with an HTTP error. */
export function failWith(
  status: number,
  options: Partial<Omit<ScriptedFailure, 'type' | 'status'>> = {},
): ScriptedFailure {
  return { type: 'failure', status, message: `scripted failure ${status}`, ...options };
}
