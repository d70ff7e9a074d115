import { definePrompt, type Prompt } from '@agentlightning/core';
import { env } from '@agentlightning/core/settings';
import { traceFetch } from '@agentlightning/fetch';
import type { Agent } from '@agentlightning/runner';
import OpenAI from 'openai';
import type { PromptSearchConfig } from '../src/index.ts';

/** A task that is done with a prompt that has its rule. */
export interface PlantedTask {
  readonly index: number;
  readonly rule: number;
}

const client = new OpenAI({ apiKey: 'none', fetch: traceFetch(), maxRetries: 0 });

/** The prompt that is made better. */
export const doing: Prompt<'request'> = definePrompt('doing', 'You do what you are asked to do.\n{request}');

/** Asks the task model, and says who is asking. */
export async function ask(content: string, user: string): Promise<string | null> {
  const messages = [{ role: 'user' as const, content }];
  const completion = await client.chat.completions.create({ model: 'any', user, messages });
  return completion.choices[0]?.message.content ?? null;
}

/** One model call; 1 when the model did as it was asked. */
export const plantedAgent: Agent<PlantedTask> = async ({ index, rule }, { rolloutId }) => {
  const answer = await ask(doing.format({ request: `Task ${index} needs RULE-${rule}` }), rolloutId);
  return answer === 'Done.' ? 1 : 0;
};

/** Number of planted rules; tasks need them in turn. */
export const ruleCount = 4;

/** Tasks from this number on. */
export function plantedTasks(from: number, count: number): readonly PlantedTask[] {
  return Array.from({ length: count }, (_, place) => ({ index: from + place, rule: place % ruleCount }));
}

/** The share of rules that a prompt has. */
export function worthOf(template: string | undefined): number {
  const rules = Array.from({ length: ruleCount }, (_, rule) => `RULE-${rule};`);
  return rules.filter((rule) => template?.includes(rule) === true).length / ruleCount;
}

/** A search that takes seconds, with models at this address; their key is in the variable `PLANTED_KEY`. */
export function plantedConfig(
  baseUrl: string,
  changes: Partial<PromptSearchConfig<PlantedTask>> = {},
): PromptSearchConfig<PlantedTask> {
  return {
    agent: plantedAgent,
    algorithm: { type: 'gepa', maxRollouts: 400, proposals: 3 },
    prompts: [doing],
    tasks: { train: plantedTasks(0, 16), validation: plantedTasks(100, 16) },
    runtime: { type: 'endpoint', baseUrl, model: 'task-model', apiKey: env('PLANTED_KEY') },
    optimizer: { baseUrl, model: 'optimizer-model', apiKey: env('PLANTED_KEY') },
    ...changes,
  };
}
