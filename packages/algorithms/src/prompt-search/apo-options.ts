import type { PromptSearchBudget } from '@agentlightning/core/algorithm';
import { parseSettings } from '@agentlightning/core/settings';
import { z } from 'zod';

/** How automatic prompt optimisation searches. Everything is optional. */
export interface ApoOptions {
  /** How many rounds of criticism and choice. @default 3 */
  readonly rounds?: number;
  /** How many sets of prompts survive a round. @default 4 */
  readonly beamWidth?: number;
  /** How many new versions each survivor gets. @default 4 */
  readonly branchFactor?: number;
  /** On how many training tasks a version is tried before it is criticised. @default 4 */
  readonly criticismTasks?: number;
  /** On how many validation tasks the versions of a round are compared. @default 16 */
  readonly validationTasks?: number;
  /**
   * What the model that rewrites should know or heed, in words: what the agent is for, how long a prompt may be.
   * @default nothing
   */
  readonly guidance?: string;
  /** Ends the search when the best version scores so much on the validation tasks, such as 1. @default never */
  readonly stopAtScore?: number;
  /** Of the model that criticises and rewrites: what varies makes branches differ. @default 1 */
  readonly temperature?: number;
  /** How often the agent may be run on a task in all. A round that does not fit is not begun. @default no limit */
  readonly maxRollouts?: number;
  /** How often the model that criticises and rewrites may be asked in all. @default no limit */
  readonly maxOptimizerCalls?: number;
}

/** Options with every default filled in. */
export type ApoSettings = Required<Omit<ApoOptions, keyof PromptSearchBudget>> & PromptSearchBudget;

const count = z.int().min(1).exactOptional();

const optionsObject = z.strictObject({
  rounds: count,
  beamWidth: count,
  branchFactor: count,
  criticismTasks: count,
  validationTasks: count,
  temperature: z.number().min(0).exactOptional(),
  maxRollouts: count,
  maxOptimizerCalls: count,
  guidance: z.string().exactOptional(),
  stopAtScore: z.number().exactOptional(),
});

/**
 * Checks options that came from outside, and fills in the defaults.
 *
 * @throws AgentLightningError with code `CONFIG` that names every wrong option
 */
export function parseApoOptions(options: unknown): ApoSettings {
  const schema: z.ZodType<ApoOptions> = optionsObject;
  const given = parseSettings(schema, options, { what: 'algorithm apo' });
  return {
    rounds: 3,
    beamWidth: 4,
    branchFactor: 4,
    criticismTasks: 4,
    validationTasks: 16,
    temperature: 1,
    maxRollouts: null,
    maxOptimizerCalls: null,
    guidance: '',
    stopAtScore: Number.POSITIVE_INFINITY,
    ...given,
  };
}
