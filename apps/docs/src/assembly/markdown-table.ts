/** A text for one cell of a Markdown table. Angle brackets outside of code are text, not HTML; flags become code. */
export function tableCell(text: string): string {
  return text
    .replaceAll(/\s*\n\s*/g, ' ')
    .replaceAll('|', '\\|')
    .split(/(`[^`]*`)/)
    .map((part) => (part.startsWith('`') ? part : part.replaceAll('<', '&lt;').replaceAll(/(?<!\S)--[a-z-]+/g, '`$&`')))
    .join('');
}

/** A text as code for one cell of a Markdown table. */
export function codeCell(text: string): string {
  return text === '' ? '' : `\`${text.replaceAll(/\s+/g, ' ').replaceAll('|', '\\|')}\``;
}
