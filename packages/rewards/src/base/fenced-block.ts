/** The content of the first fenced code block of a text; the text itself without one. */
export function fencedBlock(text: string): string {
  return /^[ \t]*(```|~~~)[^\n]*\n([\s\S]*?)^[ \t]*\1[ \t]*$/m.exec(text)?.[2] ?? text;
}

/**
 * The JSON of a text, also of a fenced block; other values unchanged.
 *
 * @throws SyntaxError
 */
export function jsonOf(value: unknown): unknown {
  return typeof value === 'string' ? (JSON.parse(fencedBlock(value).trim()) as unknown) : value;
}
