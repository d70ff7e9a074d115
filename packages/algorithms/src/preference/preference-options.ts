import { parseSettings } from '@agentlightning/core/settings';
import { z } from 'zod';
import { type StepOptions, stepOptionsShape } from '../step/step-options.ts';
import type { PairOptions } from './preference-pairs.ts';

/** Options of direct preference optimisation. */
export interface PreferenceOptions extends Omit<StepOptions, 'aggregation' | 'epochs' | 'minibatches'>, PairOptions {
  /** Strength of the constraint to the reference policy, above 0. Smaller values allow a larger divergence. @default 0.1 */
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
 * Validates options from outside.
 *
 * @throws AgentLightningError with code `CONFIG` that names every wrong option
 */
export function parsePreferenceOptions(options: unknown): PreferenceOptions {
  const schema: z.ZodType<PreferenceOptions> = optionsObject;
  return parseSettings(schema, options, { what: 'algorithm dpo' });
}
