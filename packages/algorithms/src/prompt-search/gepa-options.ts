import type { PromptSearchBudget } from '@agentlightning/core/algorithm';
import { parseSettings } from '@agentlightning/core/settings';
import { z } from 'zod';

/** How reflective prompt evolution searches. Everything is optional. */
export interface GepaOptions {
  /** How often the agent may be run on a task in all: what the search costs. @default 500 */
  readonly maxRollouts?: number;
  /** How often the model that reflects and rewrites may be asked in all. @default no limit */
  readonly maxOptimizerCalls?: number;
  /** How many new versions are proposed at the same time. More are faster and know less of each other. @default 4 */
  readonly proposals?: number;
  /** On how many training tasks a version is compared with its parent. @default 3 */
  readonly reflectionTasks?: number;
  /** Whether versions that are best at different tasks are crossed. @default true */
  readonly merges?: boolean;
  /**
   * What the model that rewrites should know or heed, in words: what the agent is for, how long a prompt may be.
   * @default nothing
   */
  readonly guidance?: string;
  /** Ends the search when the best version scores so much on the validation tasks, such as 1. @default never */
  readonly stopAtScore?: number;
  /** Of the model that reflects and rewrites. @default 1 */
  readonly temperature?: number;
}

/** Options with every default filled in. */
export type GepaSettings = Required<Omit<GepaOptions, keyof PromptSearchBudget>> & PromptSearchBudget;

const count = z.int().min(1).exactOptional();

const optionsObject = z.strictObject({
  maxRollouts: count,
  maxOptimizerCalls: count,
  guidance: z.string().exactOptional(),
  stopAtScore: z.number().exactOptional(),
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
export function parseGepaOptions(options: unknown): GepaSettings {
  const schema: z.ZodType<GepaOptions> = optionsObject;
  const given = parseSettings(schema, options, { what: 'algorithm gepa' });
  return {
    maxRollouts: 500,
    maxOptimizerCalls: null,
    proposals: 4,
    reflectionTasks: 3,
    merges: true,
    temperature: 1,
    guidance: '',
    stopAtScore: Number.POSITIVE_INFINITY,
    ...given,
  };
}
