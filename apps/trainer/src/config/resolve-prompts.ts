import { AgentLightningError, type ExampleRollout, type PromptTemplateResource } from '@agentlightning/core';
import type { PromptSet, SearchedPrompt } from '@agentlightning/core/algorithm';
import { maxExamples, promptKinds, promptVariables, strayBrace } from '@agentlightning/core/internal';
import { didYouMean } from '@agentlightning/core/settings';
import { ConfigProblems } from './config-problems.ts';
import type { PromptConfig } from './sections/prompt-search-config.ts';

/**
 * The validated initial prompts of a search.
 *
 * @throws AgentLightningError CONFIG that names prompt, variable or position of every problem
 */
export function resolvePrompts(prompts: readonly PromptConfig[] | Readonly<Record<string, PromptConfig>>): PromptSet {
  const problems = new ConfigProblems();
  const named = isList(prompts)
    ? prompts.flatMap((prompt, index) => {
        const name = problems.check(() => nameOf(prompt, index));
        return name === undefined ? [] : [[name, prompt] as const];
      })
    : Object.entries(prompts);
  const seen = new Set<string>();
  const resolved = named.map(([name, prompt]) => {
    problems.check(() => assertName(name, prompt, seen));
    seen.add(name);
    return [name, problems.check(() => templateOf(name, prompt))] as const;
  });
  problems.throwIfAny();
  if (resolved.length === 0) {
    throw promptError('prompts must not be empty', 'Add the prompts of the agent: `prompts: [definePrompt(…)]`.');
  }
  return Object.fromEntries(resolved.flatMap(([name, template]) => (template === undefined ? [] : [[name, template]])));
}

/** How a search changes its prompts. */
export interface PromptSearchKinds {
  /** The prompts that are not instructions, by name. */
  readonly searched: Readonly<Record<string, SearchedPrompt>>;
  /** Text of a rollout as an example, by prompt of kind `examples`. */
  readonly exampleOf: Readonly<Record<string, (rollout: ExampleRollout) => string>>;
}

/**
 * The kinds of the prompts of a search.
 *
 * @throws AgentLightningError CONFIG that reports every unknown kind, missing count and empty template
 */
export function resolvePromptKinds(
  prompts: readonly PromptConfig[] | Readonly<Record<string, PromptConfig>>,
): PromptSearchKinds {
  const problems = new ConfigProblems();
  const searched: Record<string, SearchedPrompt> = {};
  const exampleOf: Record<string, (rollout: ExampleRollout) => string> = {};
  for (const [key, prompt] of Object.entries(prompts)) {
    const name = isList(prompts) ? (prompt.name ?? key) : key;
    const kind = problems.check(() => kindOf(name, prompt));
    if (kind !== undefined && kind.kind !== 'instruction') searched[name] = kind;
    if (prompt.example !== undefined) exampleOf[name] = prompt.example;
  }
  problems.throwIfAny();
  return { searched, exampleOf };
}

function kindOf(name: string, { kind = 'instruction', count, example, template }: PromptConfig): SearchedPrompt {
  if (!promptKinds.includes(kind)) {
    const remedy = `Use one of ${promptKinds.map((known) => `'${known}'`).join(', ')}.`;
    throw promptError(`prompts.${name}: unknown kind "${kind}"${didYouMean(kind, promptKinds)}`, remedy);
  }
  if (kind !== 'examples') {
    if (count !== undefined || example !== undefined) {
      const message = `prompts.${name}: count and example apply to prompts of kind 'examples', and its kind is '${kind}'`;
      throw promptError(message, "Set `kind: 'examples'`, or remove them.");
    }
    if (template === '') throw promptError(`prompts.${name}: template must not be empty`, 'Write the initial text.');
    return { kind };
  }
  if (count === undefined || !Number.isInteger(count) || count < 1 || count > maxExamples) {
    const message = `prompts.${name}: count must be a whole number from 1 to ${maxExamples}, not ${count}`;
    throw promptError(message, 'Set the maximum number of examples, or use `defineExamples`, whose default is 4.');
  }
  if (typeof example !== 'function') {
    const message = `prompts.${name}: example must be a function from a rollout to the text of an example`;
    throw promptError(message, 'Set it, such as `example: ({ task, response }) => …`, or use `defineExamples`.');
  }
  return { kind, count };
}

function assertName(name: string, prompt: PromptConfig, seen: ReadonlySet<string>): void {
  if (seen.has(name)) throw promptError(`there are two prompts "${name}"`, 'Give each its own name.');
  if (!/^[\w-]+$/.test(name)) {
    throw promptError(`"${name}" cannot be the name of a prompt`, 'Use letters, digits, "_" and "-".');
  }
  if (prompt.name !== undefined && prompt.name !== name) {
    const remedy = `Write it as \`prompts: { '${prompt.name}': … }\`, or as \`prompts: [ … ]\`.`;
    throw promptError(`prompts.${name} is defined with the name "${prompt.name}", by which the agent asks`, remedy);
  }
}

function isList(prompts: readonly PromptConfig[] | Readonly<Record<string, PromptConfig>>): prompts is PromptConfig[] {
  return Array.isArray(prompts);
}

function nameOf(prompt: PromptConfig, index: number): string {
  if (prompt.name !== undefined) return prompt.name;
  throw promptError(
    `prompts.${index} has no name`,
    'Give what `definePrompt` makes, or `{ name, template }`; or `prompts: { <name>: { template } }`.',
  );
}

function templateOf(name: string, { template, variables }: PromptConfig): PromptTemplateResource {
  const resource: PromptTemplateResource = { resourceType: 'prompt_template', template, engine: 'f-string' };
  const place = strayBrace(template);
  if (place !== null) {
    const near = JSON.stringify(template.slice(Math.max(0, place - 12), place + 12));
    throw promptError(
      `prompts.${name}: there is a single brace near ${near}`,
      'Write {{ and }} for braces, {name} for a variable.',
    );
  }
  if (variables !== undefined) assertVariables(name, promptVariables(resource), variables);
  return resource;
}

function assertVariables(name: string, written: readonly string[], declared: readonly string[]): void {
  const unknown = written.find((variable) => !declared.includes(variable));
  const unused = declared.find((variable) => !written.includes(variable));
  if (unknown !== undefined) {
    throw promptError(
      `prompts.${name}: the template has the variable {${unknown}}, which variables does not name${didYouMean(unknown, declared)}`,
      'Name every variable of the template, or leave `variables` out.',
    );
  }
  if (unused !== undefined) {
    throw promptError(
      `prompts.${name}: variables names "${unused}", and the template has no {${unused}}`,
      'Write it into the template, or leave it out of `variables`.',
    );
  }
}

function promptError(message: string, remedy: string): AgentLightningError {
  return new AgentLightningError({ code: 'CONFIG', message, remedy });
}
