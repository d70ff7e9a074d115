import { AgentLightningError, type PromptTemplateResource } from '@agentlightning/core';
import { promptVariables, strayBrace } from '@agentlightning/core/internal';

/**
 * Asserts that a rewritten template has exactly the variables of the original.
 *
 * @throws AgentLightningError with code `VALIDATION` that names missing and unknown variables
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

/** Special characters of an f-string: doubled braces, a `{name}`, a single brace, a series of closing braces. */
const braces = /\{\{|\{([A-Za-z_]\w*)\}|\{|\}+/g;

/**
 * Escapes literal braces of a rewritten template, as in a JSON example: all braces except those of variables are doubled,
 * unless they are already. A closing brace matches the last open one, so `}}` after `{"a": {"b": 1` are two. A template
 * without literal braces is unchanged.
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
