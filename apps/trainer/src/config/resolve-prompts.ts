import { AgentLightningError, type PromptTemplateResource } from '@agentlightning/core';
import type { PromptSet } from '@agentlightning/core/algorithm';
import { promptVariables, strayBrace } from '@agentlightning/core/internal';
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
