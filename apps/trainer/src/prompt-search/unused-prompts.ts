import type { PromptTemplateResource } from '@agentlightning/core';
import type { CollectedRollout, PromptSet } from '@agentlightning/core/algorithm';
import { modelCallFromSpan } from '@agentlightning/core/spans';
import type { SearchSession } from './search-session.ts';

/**
 * Warns of prompts whose text no model has seen: rewriting them would change nothing. Of a version, the text that is new is
 * looked for: an agent that fills its prompt in once and for all goes on with the first one.
 */
export function warnOfUnusedPrompts(
  session: SearchSession,
  prompts: PromptSet,
  collected: readonly CollectedRollout[],
): void {
  const asked = collected.flatMap(({ spans }) =>
    spans.flatMap((span) => JSON.stringify(modelCallFromSpan(span)?.request ?? '')),
  );
  for (const [name, prompt] of Object.entries(prompts)) {
    const text = longestText(prompt, session.config.prompts[name]);
    if (text.length < minCharacters || asked.some((request) => request.includes(text))) continue;
    session.warnOnce(
      `no model call has the text of the prompt "${name}": does the agent take it within a rollout, with \`definePrompt('${name}', …).format(…)\`, and not once and for all?`,
    );
  }
}

/** Fewer characters may be anywhere, or be changed by the agent. */
const minCharacters = 6;

/** The longest part of a template that stays as it is when it is filled in, in the form it has in JSON. */
function longestText(prompt: PromptTemplateResource, original: PromptTemplateResource | undefined): string {
  const known = prompt.template === original?.template ? [] : partsOf(original?.template ?? '');
  const parts = partsOf(prompt.template).filter((part) => !known.includes(part));
  const longest = parts.reduce((one, other) => (other.length > one.length ? other : one), '');
  return JSON.stringify(longest).slice(1, -1);
}

function partsOf(template: string): readonly string[] {
  return template.split(/\{\w+\}|[{}\n]/).map((part) => part.trim());
}
