/** A part of a message's content; a text model supports only the types `text` and `refusal`. */
export interface ChatContentPart {
  readonly type: string;
  readonly text?: string | null | undefined;
  readonly refusal?: string | null | undefined;
}

/** A call of a function tool, in OpenAI's format. */
export interface ChatToolCall {
  readonly id: string;
  readonly type: 'function';
  readonly function: {
    readonly name: string;
    /** A JSON object, as text. */
    readonly arguments: string;
  };
}

/** A message of an OpenAI chat completion request. */
export interface ChatMessage {
  /** `system`, `developer` (equivalent), `user`, `assistant` or `tool`. */
  readonly role: string;
  readonly content?: string | readonly ChatContentPart[] | null | undefined;
  /** Only in assistant messages. */
  readonly tool_calls?: readonly ChatToolCall[] | null | undefined;
}

/** A function tool of an OpenAI request, with all its fields. */
export interface ChatTool {
  readonly type: 'function';
  readonly function: {
    readonly name: string;
    readonly description?: string | null | undefined;
    /** A JSON schema of type `object`; the order of its properties is the order of the values in a call. */
    readonly parameters?: { readonly properties?: Readonly<Record<string, unknown>> | undefined } | undefined;
  };
}

/** The finish reason of a model call, as defined by OpenAI. */
export type ChatFinishReason = 'stop' | 'length' | 'tool_calls';

/** The assistant's message parsed from sampled tokens. */
export interface ParsedResponse {
  /** The text; null for a message of only tool calls. */
  readonly content: string | null;
  /** The reasoning before the content, where the model marks it. */
  readonly reasoning?: string;
  /** Empty when the response calls no tool. */
  readonly toolCalls: readonly ChatToolCall[];
  readonly finishReason: ChatFinishReason;
}
