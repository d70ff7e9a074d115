import { type CollectedRollout, modelCallFromSpan, type PromptTemplateResource } from '@agentlightning/core';
import type { SearchSession } from './search-session.ts';

/** Warns of prompts whose text no model has seen: rewriting them would change nothing. */
export function warnOfUnusedPrompts(session: SearchSession, collected: readonly CollectedRollout[]): void {
  const asked = collected.flatMap(({ spans }) =>
    spans.flatMap((span) => JSON.stringify(modelCallFromSpan(span)?.request ?? '')),
  );
  for (const [name, prompt] of Object.entries(session.config.prompts)) {
    const text = longestText(prompt);
    if (text.length < minCharacters || asked.some((request) => request.includes(text))) continue;
    session.emit({
      type: 'warning',
      message: `no model call has the text of the prompt "${name}": does the agent take it with \`definePrompt('${name}', …).format(…)\`?`,
    });
  }
}

/** Fewer characters may be anywhere, or be changed by the agent. */
const minCharacters = 8;

/** The longest part of a template that stays as it is when it is filled in, in the form it has in JSON. */
function longestText({ template }: PromptTemplateResource): string {
  const parts = template.split(/[{}\n]|\{\w+\}/).map((part) => part.trim());
  const longest = parts.reduce((one, other) => (other.length > one.length ? other : one), '');
  return JSON.stringify(longest).slice(1, -1);
}
