import { z } from 'zod';
import { parseOptions } from '../parse-options.ts';

/** How reflective prompt evolution searches. Everything is optional. */
export interface GepaOptions {
  /** How often the agent may be run on a task in all: what the search costs. @default 500 */
  readonly maxRollouts?: number;
  /** How many new versions are proposed at the same time. More are faster and know less of each other. @default 4 */
  readonly proposals?: number;
  /** On how many training tasks a version is compared with its parent. @default 3 */
  readonly reflectionTasks?: number;
  /** Whether versions that are best at different tasks are crossed. @default true */
  readonly merges?: boolean;
  /** Of the model that reflects and rewrites. @default 1 */
  readonly temperature?: number;
}

const count = z.int().min(1).exactOptional();

const optionsObject = z.strictObject({
  maxRollouts: count,
  proposals: count,
  reflectionTasks: count,
  merges: z.boolean().exactOptional(),
  temperature: z.number().min(0).exactOptional(),
});

/**
 * Checks options that came from outside, and fills in the defaults.
 *
 * @throws AgentLightningError with code `CONFIG` that names every wrong option
 */
export function parseGepaOptions(options: unknown): Required<GepaOptions> {
  const schema: z.ZodType<GepaOptions> = optionsObject;
  const given = parseOptions(schema, options, { what: 'algorithm gepa', keys: Object.keys(optionsObject.shape) });
  return { maxRollouts: 500, proposals: 4, reflectionTasks: 3, merges: true, temperature: 1, ...given };
}
