import type { PromptTemplateResource } from '@agentlightning/core';
import type { CollectedRollout, PromptSet } from '@agentlightning/core/algorithm';
import { modelCallFromSpan } from '@agentlightning/core/spans';
import type { SearchSession } from './search-session.ts';

/**
 * Warns of prompts whose text is in no model call: rewriting them would have no effect. For a version, the changed text is
 * searched: an agent that formats its prompt only once continues to use the first version.
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
      `no model call has the text of the prompt "${name}": check that the agent formats it in each rollout, with \`definePrompt('${name}', …).format(…)\``,
    );
  }
}

/** Minimum length of the searched text: shorter texts may occur by chance or be changed by the agent. */
const minCharacters = 6;

/** The longest part of a template without placeholders, JSON-escaped. */
function longestText(prompt: PromptTemplateResource, original: PromptTemplateResource | undefined): string {
  const known = prompt.template === original?.template ? [] : partsOf(original?.template ?? '');
  const parts = partsOf(prompt.template).filter((part) => !known.includes(part));
  const longest = parts.reduce((one, other) => (other.length > one.length ? other : one), '');
  return JSON.stringify(longest).slice(1, -1);
}

function partsOf(template: string): readonly string[] {
  return template.split(/\{\w+\}|[{}\n]/).map((part) => part.trim());
}
