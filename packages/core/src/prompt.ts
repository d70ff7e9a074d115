import { ValidationError } from './errors/validation-error.ts';
import { formatPrompt, type PromptValue, promptVariables, strayBrace } from './prompt-template.ts';
import type { PromptTemplateResource } from './resource.ts';
import { currentRollout } from './rollout-context.ts';

/**
 * The variables of an f-string template, as types: `'question' | 'hint'` for `'Answer {question}. {hint}'`. Of a template
 * that is no literal, any string.
 */
export type TemplateVariables<TTemplate extends string> = string extends TTemplate
  ? string
  : TTemplate extends `${string}{${infer Rest}`
    ? Rest extends `{${infer Tail}`
      ? TemplateVariables<Tail>
      : Rest extends `${infer Name}}${infer Tail}`
        ? VariableName<Name> | TemplateVariables<Tail>
        : never
    : never;

/** Braces around anything but a name are no placeholder. */
type VariableName<TText extends string> = TText extends
  | ''
  | `${string}${' ' | '\n' | '"' | "'" | ':' | ',' | '{'}${string}`
  ? never
  : TText;

/** What {@link Prompt.format} takes: a value for each variable; nothing for a prompt without. */
export type PromptArguments<TVariable extends string> = [TVariable] extends [never]
  ? readonly []
  : readonly [values: Readonly<Record<TVariable, PromptValue>>];

/** A prompt of an agent, by a name under which it can be made better. */
export interface Prompt<TVariable extends string = string> {
  readonly name: string;
  /** The template as it was written; a rollout may bring another one. */
  readonly template: string;
  /** The names of the variables, in order of the alphabet. */
  readonly variables: readonly TVariable[];
  /** The template in force: in a rollout that brings a `prompt_template` resource of this name, that one. */
  current(): PromptTemplateResource;
  /**
   * The template in force with its variables filled in.
   *
   * @throws ValidationError when a variable of the template in force has no value
   */
  format(...values: PromptArguments<TVariable>): string;
}

/**
 * Gives a prompt a name, so that `agl train` can make it better. Anywhere else it is the template that is written here.
 * Works with every adapter and without one: which template is in force follows from the rollout that the code runs in.
 *
 * @param name - a word: letters, digits, `_` and `-`
 * @param template - an f-string: `{question}` is a variable, `{{` and `}}` are braces
 * @throws ValidationError when the name is no word, or a brace is neither doubled nor part of a variable
 *
 * @example
 * ```ts
 * const answering = definePrompt('answering', 'Answer in one word: {question}');
 * const prompt = answering.format({ question: 'What is the capital of France?' });
 * ```
 */
export function definePrompt<const TTemplate extends string>(
  name: string,
  template: TTemplate,
): Prompt<TemplateVariables<TTemplate>> {
  const written: PromptTemplateResource = { resourceType: 'prompt_template', template, engine: 'f-string' };
  assertPrompt(name, template);
  const current = (): PromptTemplateResource => {
    const prompts = currentRollout()?.prompts ?? {};
    return Object.hasOwn(prompts, name) ? (prompts[name] ?? written) : written;
  };
  return {
    name,
    template,
    // The type says what the same template was found to have by reading it.
    variables: promptVariables(written) as readonly TemplateVariables<TTemplate>[],
    current,
    format: (...[values = {}]) => formatPrompt(current(), values),
  };
}

function assertPrompt(name: string, template: string): void {
  if (!/^[\w-]+$/.test(name)) {
    const message = `must be a word of letters, digits, "_" and "-", not ${JSON.stringify(name)}`;
    throw new ValidationError('a prompt', [{ path: 'name', message }]);
  }
  const place = strayBrace(template);
  if (place === null) return;
  const near = template.slice(Math.max(0, place - 12), place + 12);
  const message = `has a single brace near ${JSON.stringify(near)}: write {{ or }} for a brace, {name} for a variable`;
  throw new ValidationError(`the prompt "${name}"`, [{ path: 'template', message }]);
}
