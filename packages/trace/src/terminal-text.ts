/**
 * A text that shows on a terminal as it is: characters that a terminal would obey instead, such as those that begin colours
 * or move the cursor, and those that turn the direction of what follows, become `\ufffd`. New lines and tabs stay.
 *
 * Whatever a model, a tool or a web page said may be in a trace.
 *
 * @example
 * ```ts
 * console.log(terminalText('\u001b[2Jgone')); // �[2Jgone
 * ```
 */
export function terminalText(text: string): string {
  return text.replace(/(?![\n\t])[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu, '\ufffd');
}
