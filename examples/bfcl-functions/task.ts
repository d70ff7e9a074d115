import { z } from 'zod';

/** A parameter of a function, with the type names of the benchmark. */
export const parameterSchema = z.looseObject({
  type: z.enum(['string', 'integer', 'float', 'boolean', 'array', 'tuple', 'dict', 'any']),
  items: z.looseObject({ type: z.string() }).optional(),
});

export type Parameter = z.infer<typeof parameterSchema>;

/** A function that the model may call. */
export const functionSchema = z.object({
  name: z.string(),
  description: z.string(),
  parameters: z.object({
    type: z.literal('dict'),
    properties: z.record(z.string(), parameterSchema),
    required: z.array(z.string()).default([]),
  }),
});

export type FunctionDescription = z.infer<typeof functionSchema>;

/** A question of the Berkeley Function-Calling Leaderboard. */
export const bfclTask = z.object({
  id: z.string(),
  question: z.string(),
  functions: z.array(functionSchema).min(1),
  /**
   * The right call as JSON text, `{"name":{"parameter":[accepted values]}}`; null if no function fits. As text, because
   * JavaScript does not distinguish the numbers 5 and 5.0, and the benchmark does.
   */
  expected: z.string().nullable(),
});

export type BfclTask = z.infer<typeof bfclTask>;
