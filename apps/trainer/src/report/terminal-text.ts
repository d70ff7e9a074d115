import { stripVTControlCharacters } from 'node:util';

// Besides line feeds and tabs.
const controlCharacters = /(?![\n\t])\p{Cc}/gu;

/**
 * A text of an agent, a model or a server without the control sequences of terminals, which could move the cursor, write to the
 * clipboard or hide other output.
 */
export function terminalText(text: string): string {
  return stripVTControlCharacters(text).replace(controlCharacters, '');
}
