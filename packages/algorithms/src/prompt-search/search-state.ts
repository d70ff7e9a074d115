import type { JsonObject, PromptTemplateResource } from '@agentlightning/core';
import type { PromptSet } from '@agentlightning/core/algorithm';
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
