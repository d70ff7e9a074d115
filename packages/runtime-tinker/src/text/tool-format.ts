/** A tool call by the model. */
export interface CalledTool {
  readonly name: string;
  /** A JSON object, as text. */
  readonly arguments: string;
}

/** A parsed response: its text and its calls. An invalid call stays text. */
export interface ParsedText {
  readonly content: string;
  readonly calls: readonly CalledTool[];
}

/** How a family of models writes tool calls. */
export interface ToolFormat {
  readonly name: string;
  /** Texts that begin a call at any position: a stream holds the response back from there on until it is complete. */
  readonly markers: readonly string[];
  /** Texts that begin a call only at the start of a response. */
  readonly openings: readonly string[];
  /** Whether a model's chat template describes this format. */
  isUsedBy(chatTemplate: string): boolean;
  /** Parses a complete response, special tokens included. */
  parse(text: string): ParsedText;
}

/** A call from its JSON object, under the field names of the models; null for other values. */
export function callOf(value: unknown): CalledTool | null {
  if (!isFields(value)) return null;
  const inner = value['function'];
  const fields = isFields(inner) ? inner : value;
  const name = fields['name'] ?? (typeof inner === 'string' ? inner : undefined);
  const given = 'arguments' in fields ? fields['arguments'] : 'parameters' in fields ? fields['parameters'] : {};
  if (typeof name !== 'string' || name === '') return null;
  if (typeof given === 'string') return { name, arguments: given };
  return isFields(given) ? { name, arguments: JSON.stringify(given) } : null;
}

/** Parsed JSON; undefined when it is invalid. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
