import { AgentLightningError, type PromptTemplateResource } from '@agentlightning/core';

/** Placeholders by engine: the name is the first group. `{{` and `}}` are braces in an f-string, and no placeholder. */
const placeholders: Readonly<Record<PromptTemplateResource['engine'], RegExp>> = {
  'f-string': /(?<!\{)\{([A-Za-z_]\w*)\}(?!\})/g,
  jinja: /\{\{-?\s*([A-Za-z_]\w*)[^}]*\}\}/g,
  poml: /\{\{\s*([A-Za-z_]\w*)[^}]*\}\}/g,
};

/** The names of a template's variables, each once, in order of the alphabet. */
export function promptVariables({ template, engine }: PromptTemplateResource): readonly string[] {
  const names = [...template.matchAll(placeholders[engine])].map(([, name = '']) => name);
  return [...new Set(names)].sort();
}

/**
 * Refuses a rewritten template that an agent could not fill in: it must have the variables of the original, no others.
 *
 * @throws AgentLightningError VALIDATION that names what is missing and what is new
 */
export function assertSameVariables(original: PromptTemplateResource, rewritten: PromptTemplateResource): void {
  const before = promptVariables(original);
  const after = promptVariables(rewritten);
  const missing = before.filter((name) => !after.includes(name));
  const unknown = after.filter((name) => !before.includes(name));
  if (missing.length === 0 && unknown.length === 0) return;
  const parts = [
    ...(missing.length === 0 ? [] : [`lacks the variables ${missing.join(', ')}`]),
    ...(unknown.length === 0 ? [] : [`has the unknown variables ${unknown.join(', ')}`]),
  ];
  throw new AgentLightningError({
    code: 'VALIDATION',
    message: `The rewritten prompt ${parts.join(' and ')}`,
    remedy: `Keep exactly these variables, written as in the original: ${before.join(', ') || 'none'}.`,
    details: { missing, unknown },
  });
}
