import { AgentLightningError } from '@agentlightning/core';

const word = /(?:[^\s"']|"[^"]*"|'[^']*')+/g;

/**
 * The words of a command line, as a shell splits them: at spaces outside of single or double quotes, without expansion.
 *
 * @throws AgentLightningError CONFIG when a quote is not closed
 */
export function commandWords(text: string): readonly string[] {
  if (text.replace(word, '').trim() !== '') {
    throw new AgentLightningError({
      code: 'CONFIG',
      message: `a quote is not closed: ${text}`,
      remedy: 'Close it, or remove it.',
    });
  }
  return (text.match(word) ?? []).map((each) => each.replace(/"([^"]*)"|'([^']*)'/g, '$1$2'));
}
