/** How many tools of one request the model can name. */
export const maxTools = 10;

/** The ids of the special tokens. Ids 0 to 255 are bytes. */
export const specialToken = {
  /** Ends the assistant's turn; the only token that stops generation. */
  end: 256,
  /** Separates two argument values of a tool call. */
  argument: 257,
  /** The first of {@link maxTools} tokens, each of which calls the tool at that place of the request's list. */
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

/** Number of tokens the model reads: 256 bytes and the special tokens. */
export const vocabularySize = 273;

/**
 * Number of tokens the model can generate: ids 0 to 267. The tokens that open messages lie above,
 * so a response can never forge a turn of somebody else.
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
