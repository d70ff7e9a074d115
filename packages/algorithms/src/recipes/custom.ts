import type { Algorithm } from '@agentlightning/core';
import { AgentLightningError } from '@agentlightning/core';
import { parseSettings } from '@agentlightning/core/settings';
import { z } from 'zod';
import { hasMethod } from '../base/has-method.ts';

/** Properties of the run for a custom algorithm. */
export interface CustomChoice {
  /** Ids of the models whose calls are trained on, in a run of several policies. @default all calls */
  readonly models?: readonly string[];
}

/**
 * Creates a custom algorithm. It is called several times in a run and must create the same algorithm each time. Every recipe
 * of the policy-gradient family is an `AlgorithmFactory`.
 */
export type AlgorithmFactory = (choice: CustomChoice) => Algorithm;

/** Options of {@link custom}. */
export interface CustomOptions extends CustomChoice {
  /** The algorithm, or its factory, which is required in a run of several policies. */
  readonly algorithm: Algorithm | AlgorithmFactory;
}

const isFactory = (value: unknown): boolean => typeof value === 'function';

const optionsSchema: z.ZodType<CustomOptions> = z.strictObject({
  algorithm: z.union([z.custom<AlgorithmFactory>(isFactory), z.custom<Algorithm>(hasMethod('planStep'))], {
    error: 'must be an object with name, groupSize and a method `planStep`, or a function that makes one',
  }),
  models: z.array(z.string().min(1)).min(1).exactOptional(),
});

/**
 * A custom algorithm: an {@link Algorithm}, or a function that makes one.
 *
 * @throws AgentLightningError with code `CONFIG` when it is neither, or has no name or group size, or is not a factory in a
 *   run of several policies
 *
 * @example
 * ```ts
 * const cautious = policyGradientRecipe('cautious', { klCoefficient: 0.05, clipHigh: 0.2 });
 * const algorithm = custom({ algorithm: cautious }); // in a configuration: { type: 'custom', algorithm: cautious }
 * ```
 */
export function custom(options: CustomOptions): Algorithm {
  const { algorithm: given, ...choice } = parseSettings(optionsSchema, options, { what: 'algorithm custom' });
  if (typeof given !== 'function' && choice.models !== undefined) {
    throw new AgentLightningError({
      code: 'CONFIG',
      message: `algorithm custom: ${JSON.stringify(given.name)} must train on the calls of ${choice.models.join(', ')} only, but is not a factory`,
      remedy: 'Give a function `({ models }) => algorithm` that creates it.',
    });
  }
  const made = typeof given === 'function' ? given(choice) : given;
  assertAlgorithm(made);
  return made;
}

/** Validates at runtime: a configuration file is not type-checked. */
function assertAlgorithm(made: Algorithm): void {
  if (!hasMethod('planStep')(made)) throw notAlgorithm('it has no method `planStep`');
  if (typeof made.name !== 'string' || made.name === '') throw notAlgorithm('it has no name');
  if (!Number.isInteger(made.groupSize) || made.groupSize < 1)
    throw notAlgorithm(`its groupSize is ${String(made.groupSize)}; it must be a whole number of at least 1`);
}

function notAlgorithm(message: string): AgentLightningError {
  return new AgentLightningError({
    code: 'CONFIG',
    message: `algorithm custom: invalid algorithm: ${message}`,
    remedy: 'See the page "Add an algorithm" of the documentation.',
  });
}
