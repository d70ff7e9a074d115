import { AgentLightningError, type PromptTemplateResource } from '@agentlightning/core';
import { promptVariables, strayBrace } from '@agentlightning/core/internal';

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

/** What may mean something in an f-string: doubled braces, a `{name}`, a single brace; closing ones as they come together. */
const braces = /\{\{|\{([A-Za-z_]\w*)\}|\{|\}+/g;

/**
 * A rewritten template whose author took braces for braces, as in an example of JSON: all but those of the variables are
 * doubled, unless they are so already. A brace closes what the last open one began, so `}}` after `{"a": {"b": 1` are two. A
 * template in which every brace means something is unchanged.
 */
export function withLiteralBraces(original: PromptTemplateResource, template: string): string {
  if (original.engine !== 'f-string' || strayBrace(template) === null) return template;
  const variables = promptVariables(original);
  const open: ('single' | 'doubled')[] = [];
  return template.replace(braces, (part, name?: string) => {
    if (name !== undefined) return variables.includes(name) ? part : `{${part}}`;
    if (part.startsWith('{')) {
      open.push(part === '{' ? 'single' : 'doubled');
      return '{{';
    }
    let closed = '';
    for (let left = part.length; left > 0; left -= open.pop() === 'single' ? 1 : 2) closed += '}}';
    return closed;
  });
}
