import type { JsonObject, PromptTemplateResource } from '@agentlightning/core';
import type { JudgedPrompts, PromptSet } from '@agentlightning/core/algorithm';
import { parse } from '@agentlightning/core/internal';
import { z } from 'zod';

/** Validates a set of prompts in a saved search. */
export const promptSetSchema: z.ZodType<PromptSet> = z.record(
  z.string(),
  z.object({
    resourceType: z.literal('prompt_template'),
    template: z.string(),
    engine: z.enum(['f-string', 'jinja', 'poml']),
  }) satisfies z.ZodType<PromptTemplateResource>,
);

/** Validates an evaluated set of prompts in a saved search. */
export const judgedSchema: z.ZodType<JudgedPrompts> = z.object({
  version: z.string(),
  prompts: promptSetSchema,
  parents: z.array(z.string()),
  score: z.number().nullable(),
  scoredTasks: z.int(),
  taskScores: z.array(z.number().nullable()),
  examples: z
    .record(
      z.string(),
      z.array(z.object({ task: z.int(), reward: z.number(), rolloutId: z.string().nullable() })),
    )
    .exactOptional(),
});

/**
 * Validates the saved state of a search.
 *
 * @throws ValidationError when it is not a state of this search
 */
export function readState<TState>(schema: z.ZodType<TState>, saved: JsonObject, search: string): TState {
  return parse(schema, saved, `the saved state of ${search}`);
}

/** The state of a search in the form that is saved. */
export function writeState(state: object): JsonObject {
  return JSON.parse(JSON.stringify(state)) as JsonObject;
}
