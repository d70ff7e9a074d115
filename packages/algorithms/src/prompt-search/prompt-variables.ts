import { AgentLightningError, type PromptTemplateResource, promptVariables, strayBrace } from '@agentlightning/core';

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

/**
 * A rewritten template whose author took braces for braces, as in an example of JSON: all but those of the variables are
 * doubled. One in which every brace means something stays as it is.
 */
export function withLiteralBraces(original: PromptTemplateResource, template: string): string {
  if (original.engine !== 'f-string' || strayBrace(template) === null) return template;
  const variables = promptVariables(original).map((name) => `{${name}}`);
  return template
    .split(/(\{[A-Za-z_]\w*\})/)
    .map((part) => (variables.includes(part) ? part : part.replace(/[{}]/g, (brace) => brace + brace)))
    .join('');
}
