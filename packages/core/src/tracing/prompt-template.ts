import { ValidationError } from '../base/agent-lightning-error.ts';
import type { PromptTemplateResource } from '../store/resource.ts';

/** Type of a prompt variable's value. */
export type PromptValue = string | number | boolean;

/** `{{`, `}}` and `{name}` of an f-string, in parsing order. */
const fStringPart = /\{\{|\}\}|\{([A-Za-z_]\w*)\}/g;

/**
 * Placeholders of the other engines; the first group is the name, the second the terminator. An unterminated
 * placeholder matches too, so that no match starts within it and the search stays linear.
 */
const placeholders: Readonly<Record<'jinja' | 'poml', RegExp>> = {
  jinja: /\{\{-?\s*([A-Za-z_]\w*)[^}]*(\}\}|\}|$)/g,
  poml: /\{\{\s*([A-Za-z_]\w*)[^}]*(\}\}|\}|$)/g,
};

/** A placeholder that contains only a name, the only supported kind. */
const plainPlaceholder = /\{\{-?\s*([A-Za-z_]\w*)\s*-?\}\}/g;

/** Unique variable names of a template, in alphabetical order. */
export function promptVariables({ template, engine }: PromptTemplateResource): readonly string[] {
  const pattern = engine === 'f-string' ? fStringPart : placeholders[engine];
  const names = [...template.matchAll(pattern)].flatMap(([, name, close = '}}']) =>
    name === undefined || close !== '}}' ? [] : name,
  );
  return [...new Set(names)].sort();
}

/**
 * Position of the first brace of an f-string that is neither part of a `{variable}` nor doubled; null without one.
 * Python rejects such a template.
 */
export function strayBrace(template: string): number | null {
  // Parsed parts are replaced by blanks of equal length, which preserves positions.
  const rest = template.replace(fStringPart, (part) => ' '.repeat(part.length));
  const place = rest.search(/[{}]/);
  return place < 0 ? null : place;
}

/** The f-string template that renders as `text`: its braces are doubled. */
export function escapeBraces(text: string): string {
  return text.replace(/[{}]/g, '$&$&');
}

/**
 * Renders a template: `{name}` of an f-string, where `{{` and `}}` are braces; `{{ name }}` of Jinja, without filters
 * and blocks.
 *
 * @throws ValidationError when a variable has no value, or the template needs a template engine
 */
export function formatPrompt(prompt: PromptTemplateResource, values: Readonly<Record<string, PromptValue>>): string {
  const missing = promptVariables(prompt).filter((name) => !Object.hasOwn(values, name));
  if (missing.length > 0) {
    const issues = missing.map((name) => ({ path: name, message: 'is a variable of the prompt and has no value' }));
    throw new ValidationError('the values of a prompt', issues);
  }
  const textFor = (name: string): string => String(values[name]);
  if (prompt.engine === 'f-string') {
    return prompt.template.replace(fStringPart, (part, name?: string) =>
      name === undefined ? part.slice(1) : textFor(name),
    );
  }
  if (/\{[%#]/.test(prompt.template) || /\{\{/.test(prompt.template.replace(plainPlaceholder, ''))) {
    const message = `requires a template engine; render the ${prompt.engine} template yourself`;
    throw new ValidationError('the prompt', [{ path: 'template', message }]);
  }
  return prompt.template.replace(plainPlaceholder, (_, name: string) => textFor(name));
}
