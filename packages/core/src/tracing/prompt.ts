import type { PromptKind } from '../algorithm/prompt-search.ts';
import { ValidationError } from '../base/agent-lightning-error.ts';
import type { PromptTemplateResource } from '../store/resource.ts';
import { promotedPrompt } from './promoted-prompts.ts';
import { formatPrompt, type PromptValue, promptVariables, strayBrace } from './prompt-template.ts';
import { currentRollout } from './rollout-context.ts';

/**
 * The variables of an f-string template, as types: `'question' | 'hint'` for `'Answer {question}. {hint}'`. Any string
 * for a template that is not a literal type.
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

/** Braces around anything but a name are not a placeholder. */
type VariableName<TText extends string> = TText extends
  | ''
  | `${string}${' ' | '\n' | '"' | "'" | ':' | ',' | '{'}${string}`
  ? never
  : TText;

/** Arguments of {@link Prompt.format}: a value per variable; none for a prompt without variables. */
export type PromptArguments<TVariable extends string> = [TVariable] extends [never]
  ? readonly []
  : readonly [values: Readonly<Record<TVariable, PromptValue>>];

/** A named prompt of an agent, which `agl train` can optimise. */
export interface Prompt<TVariable extends string = string> {
  /** Name of the prompt. */
  readonly name: string;
  /** How a search changes it. */
  readonly kind: PromptKind;
  /** The default template; a rollout can override it. */
  readonly template: string;
  /** Names of the variables, in alphabetical order. */
  readonly variables: readonly TVariable[];
  /**
   * The effective template: the `prompt_template` resource of this name in the current rollout; outside of rollouts the promoted
   * one, with `loadPrompts`; otherwise the default.
   */
  current(): PromptTemplateResource;
  /**
   * Renders the effective template.
   *
   * @throws ValidationError when a variable of the effective template has no value
   */
  format(...values: PromptArguments<TVariable>): string;
}

/** Options of {@link definePrompt}. */
export interface PromptOptions {
  /**
   * `tool` for the description of a tool: the optimiser model then improves it as the text by which a model chooses the tool and
   * its arguments.
   *
   * @default 'instruction'
   */
  readonly kind?: Exclude<PromptKind, 'examples'>;
}

/**
 * Defines a named prompt that `agl train` can optimise. Outside of rollouts it is the version that `loadPrompts` has loaded, or
 * the default template.
 * Independent of adapters: the current rollout determines the effective template.
 *
 * @param name - letters, digits, `_` and `-`
 * @param template - an f-string: `{question}` is a variable, `{{` and `}}` are braces
 * @throws ValidationError when the name is invalid, or a brace is neither doubled nor part of a variable
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
  { kind = 'instruction' }: PromptOptions = {},
): Prompt<TemplateVariables<TTemplate>> {
  // The type computes the same variables from the template literal.
  return namedPrompt(name, { template, kind }) as Prompt<TemplateVariables<TTemplate>>;
}

/**
 * A named prompt of any kind.
 *
 * @throws ValidationError when the name is invalid, or a brace is neither doubled nor part of a variable
 */
export function namedPrompt(
  name: string,
  { template, kind }: { readonly template: string; readonly kind: PromptKind },
): Prompt {
  const written: PromptTemplateResource = { resourceType: 'prompt_template', template, engine: 'f-string' };
  assertPrompt(name, template);
  const variables = promptVariables(written);
  const current = (): PromptTemplateResource => {
    const rollout = currentRollout();
    if (!rollout) return promotedFor(name, variables) ?? written;
    const prompts = rollout.prompts ?? {};
    return Object.hasOwn(prompts, name) ? (prompts[name] ?? written) : written;
  };
  return {
    name,
    kind,
    template,
    variables,
    current,
    format: (...[values = {}]) => formatPrompt(current(), values),
  };
}

/** A promoted text with other variables would fail requests. */
function promotedFor(name: string, variables: readonly string[]): PromptTemplateResource | null {
  const promoted = promotedPrompt(name);
  return promoted !== null && promptVariables(promoted).every((each) => variables.includes(each)) ? promoted : null;
}

function assertPrompt(name: string, template: string): void {
  if (!/^[\w-]+$/.test(name)) {
    const message = `must consist of letters, digits, "_" and "-", not ${JSON.stringify(name)}`;
    throw new ValidationError('a prompt', [{ path: 'name', message }]);
  }
  const place = strayBrace(template);
  if (place === null) return;
  const near = template.slice(Math.max(0, place - 12), place + 12);
  const message = `has a single brace near ${JSON.stringify(near)}: write {{ or }} for a brace, {name} for a variable`;
  throw new ValidationError(`the prompt "${name}"`, [{ path: 'template', message }]);
}
