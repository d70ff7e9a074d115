import { parseSettings } from '@agentlightning/core/settings';
import { z } from 'zod';
import { type StepOptions, stepOptionsShape } from '../step/step-options.ts';

/** How a recipe learns by imitation. Everything is optional; each recipe says which defaults are its own. */
export interface SupervisedOptions extends StepOptions {
  /** Rollouts with a smaller reward are not imitated; one without a reward is not either. @default none: all are */
  readonly minReward?: number;
  /** At most so many rollouts of each task are imitated, the best ones; equal ones in the order they came. @default all */
  readonly keepBest?: number;
}

const optionsObject = z.strictObject({
  ...stepOptionsShape,
  minReward: z.number().exactOptional(),
  keepBest: z.int().min(1).exactOptional(),
});

/**
 * Checks options that came from outside, and fills in a recipe's own defaults.
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
