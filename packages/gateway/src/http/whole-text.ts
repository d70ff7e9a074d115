/** The text of a body that came in parts; without the mark at its start that some writers of UTF-8 leave. */
export function wholeText(parts: readonly Buffer[]): string {
  const [first] = parts;
  const text = (parts.length === 1 && first !== undefined ? first : Buffer.concat(parts)).toString();
  return text.startsWith('\uFEFF') ? text.slice(1) : text;
}
