import { parseSettings } from '@agentlightning/core/settings';
import { z } from 'zod';
import { type StepOptions, stepOptionsShape } from '../step/step-options.ts';
import type { PairOptions } from './preference-pairs.ts';

/** How direct preference optimisation learns. Everything is optional. */
export interface PreferenceOptions extends Omit<StepOptions, 'aggregation' | 'epochs' | 'minibatches'>, PairOptions {
  /** How strongly the policy is held to the reference, above 0: the smaller, the further it may go. @default 0.1 */
  readonly beta?: number;
}

const { aggregation, epochs, minibatches, ...shape } = stepOptionsShape;
const optionsObject = z.strictObject({
  ...shape,
  beta: z.number().positive().exactOptional(),
  minGap: z.number().min(0).exactOptional(),
  pairsPerTask: z.int().min(1).exactOptional(),
});

/**
 * Checks options that came from outside.
 *
 * @throws AgentLightningError with code `CONFIG` that names every wrong option
 */
export function parsePreferenceOptions(options: unknown): PreferenceOptions {
  const schema: z.ZodType<PreferenceOptions> = optionsObject;
  return parseSettings(schema, options, { what: 'algorithm dpo' });
}
