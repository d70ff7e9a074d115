/** A part of a message's content; a text model supports only the types `text` and `refusal`. */
export interface ChatContentPart {
  /** Kind of the part. */
  readonly type: string;
  /** Text of the part. */
  readonly text?: string | null | undefined;
  /** Text of a refusal. */
  readonly refusal?: string | null | undefined;
}

/** A call of a function tool, in OpenAI's format. */
export interface ChatToolCall {
  /** Id of the call. */
  readonly id: string;
  /** The kind of a call. */
  readonly type: 'function';
  /** The called function with its arguments as JSON. */
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
  /** Text, or parts of text. */
  readonly content?: string | readonly ChatContentPart[] | null | undefined;
  /** Only in assistant messages. */
  readonly tool_calls?: readonly ChatToolCall[] | null | undefined;
}

/** A function tool of an OpenAI request, with all its fields. */
export interface ChatTool {
  /** The kind of a tool. */
  readonly type: 'function';
  /** The function with the schema of its arguments. */
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
  /** Why the response ended. */
  readonly finishReason: ChatFinishReason;
}
