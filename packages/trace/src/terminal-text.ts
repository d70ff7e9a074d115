/**
 * Replaces control characters and bidirectional controls with `\ufffd`, except new lines and tabs: traces contain output of models,
 * tools and web pages, which must not control the terminal.
 *
 * @example
 * ```ts
 * console.log(terminalText('\u001b[2Jgone')); // �[2Jgone
 * ```
 */
export function terminalText(text: string): string {
  return text.replace(/(?![\n\t])[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu, '\ufffd');
}
