/** A part of a message's content; only those of type `text` (and `refusal`) can be read by the embedded model. */
export interface ChatContentPart {
  readonly type: string;
  readonly text?: string | null | undefined;
  readonly refusal?: string | null | undefined;
}

/** A call of a function tool, in OpenAI's form. */
export interface ChatToolCall {
  readonly id: string;
  readonly type: 'function';
  readonly function: {
    readonly name: string;
    /** A JSON object, as text. */
    readonly arguments: string;
  };
}

/** A message of an OpenAI chat completion request, as far as the embedded model reads it. */
export interface ChatMessage {
  /** `system`, `developer` (the same thing), `user`, `assistant` or `tool`. */
  readonly role: string;
  readonly content?: string | readonly ChatContentPart[] | null | undefined;
  /** Only in assistant messages. */
  readonly tool_calls?: readonly ChatToolCall[] | null | undefined;
}

/** A function tool of an OpenAI request. Its description is not shown to the embedded model. */
export interface ChatTool {
  readonly type: 'function';
  readonly function: {
    readonly name: string;
    /** A JSON schema of type `object`; the order of its properties is the order of the values in a call. */
    readonly parameters?: { readonly properties?: Readonly<Record<string, unknown>> | undefined } | undefined;
  };
}

/** What a model call ended with, in OpenAI's words. */
export type ChatFinishReason = 'stop' | 'length' | 'tool_calls';

/** The assistant's message made from sampled tokens. */
export interface ParsedResponse {
  /** The text, or null when there is none beside tool calls. */
  readonly content: string | null;
  /** Empty when the response calls no tool. */
  readonly toolCalls: readonly ChatToolCall[];
  readonly finishReason: ChatFinishReason;
}
