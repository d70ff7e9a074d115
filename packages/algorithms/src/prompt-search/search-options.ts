import type { PromptSearchBudget } from '@agentlightning/core/algorithm';
import { z } from 'zod';

/** Options of all prompt searches. */
export interface SearchOptions {
  /** Guidance for the optimiser model, such as the agent's purpose or a length limit. @default none */
  readonly guidance?: string;
  /** Mean reward on the validation tasks at which the search ends, such as 1. @default none */
  readonly stopAtScore?: number;
  /** Sampling temperature of the optimiser model, at least 0. @default 1 */
  readonly temperature?: number;
  /** Maximum number of rollouts of the whole search. A round that would exceed it has fewer branches. @default no limit */
  readonly maxRollouts?: number;
  /** Maximum number of requests to the optimiser model in the whole search. @default 200 */
  readonly maxOptimizerCalls?: number;
}

/** Search options with all defaults. */
export type SearchSettings<TOptions extends SearchOptions> = Required<Omit<TOptions, keyof PromptSearchBudget>> &
  PromptSearchBudget;

/** Validates a number of tasks, rounds or requests. */
export const count: z.ZodExactOptional<z.ZodInt> = z.int().min(1).exactOptional();

/** Fields of {@link SearchOptions}, for the schema of a search. */
export const searchOptionsShape: {
  readonly [TName in keyof SearchOptions]-?: z.ZodExactOptional<z.ZodType<Exclude<SearchOptions[TName], undefined>>>;
} = {
  guidance: z.string().exactOptional(),
  stopAtScore: z.number().exactOptional(),
  temperature: z.number().min(0).exactOptional(),
  maxRollouts: count,
  maxOptimizerCalls: count,
};

/** Defaults of {@link SearchOptions}. */
export const searchDefaults: SearchSettings<SearchOptions> = {
  guidance: '',
  stopAtScore: Number.POSITIVE_INFINITY,
  temperature: 1,
  maxRollouts: null,
  maxOptimizerCalls: 200,
};
