/** Maximum number of tools in a request. */
export const maxTools = 10;

/** The ids of the special tokens. Ids 0 to 255 are bytes. */
export const specialToken = {
  /** Ends the assistant's turn; the only token that stops generation. */
  end: 256,
  /** Separates two argument values of a tool call. */
  argument: 257,
  /** The first of {@link maxTools} tokens, each of which calls the tool at that index of the request's list. */
  firstTool: 258,
  /** Opens a system message. */
  system: 268,
  /** Opens a user message. */
  user: 269,
  /** Opens an assistant message. */
  assistant: 270,
  /** Opens a tool's result. */
  tool: 271,
  /** Opens the list of tools. */
  tools: 272,
} as const;

/** Number of input token ids: 256 bytes and the special tokens. */
export const vocabularySize = 273;

/**
 * Number of token ids that the model can generate: 0 to 267. The tokens that open messages are above, so a response
 * cannot forge a turn.
 */
export const outputSize = 268;

/** The readable names of the special tokens, by id minus 256. */
export const specialTokenNames: readonly string[] = [
  '<|end|>',
  '<|arg|>',
  ...Array.from({ length: maxTools }, (_, index) => `<|tool_${index}|>`),
  '<|system|>',
  '<|user|>',
  '<|assistant|>',
  '<|tool|>',
  '<|tools|>',
];
