import { parseSettings } from '@agentlightning/core/settings';
import { z } from 'zod';
import { type StepOptions, stepOptionsShape } from '../step/step-options.ts';

/** Options of supervised recipes. Each recipe documents its own defaults. */
export interface SupervisedOptions extends StepOptions {
  /** Minimum reward. Rollouts with a smaller reward, or without one, are not imitated. @default none: all are imitated */
  readonly minReward?: number;
  /** Maximum number of rollouts per task, the best first; equal rewards keep their order. @default all */
  readonly keepBest?: number;
}

const optionsObject = z.strictObject({
  ...stepOptionsShape,
  minReward: z.number().exactOptional(),
  keepBest: z.int().min(1).exactOptional(),
});

/**
 * Validates options from outside and adds the recipe's defaults.
 *
 * @throws AgentLightningError with code `CONFIG` that names every wrong option
 */
export function parseSupervisedOptions(
  recipe: string,
  defaults: SupervisedOptions,
  options: unknown,
): SupervisedOptions {
  const schema: z.ZodType<SupervisedOptions> = optionsObject;
  return { ...defaults, ...parseSettings(schema, options, { what: `algorithm ${recipe}` }) };
}
