import type { Algorithm } from '@agentlightning/core';
import { AgentLightningError } from '@agentlightning/core';
import { parseSettings } from '@agentlightning/core/settings';
import { z } from 'zod';
import { hasMethod } from '../has-method.ts';

/** What a custom algorithm receives of the run. */
export interface CustomChoice {
  /** The ids of the models whose calls it is to learn from, in a run of several policies. @default all calls */
  readonly models?: readonly string[];
}

/**
 * Makes a custom algorithm. It is called several times in a run, and makes the same each time. Every recipe of the
 * policy-gradient family is one.
 */
export type AlgorithmFactory = (choice: CustomChoice) => Algorithm;

/** A custom algorithm instead of one by name. */
export interface CustomOptions extends CustomChoice {
  /** The algorithm; or what makes it, which is needed where a run has several policies. */
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
 * @throws AgentLightningError with code `CONFIG` when it is neither, or has no name or group size; and when a run has
 *   several policies and the algorithm cannot receive which calls are its own
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
      message: `algorithm custom: ${JSON.stringify(given.name)} is to learn from the calls of ${choice.models.join(', ')}, and cannot receive them`,
      remedy: 'Give a function `({ models }) => algorithm` that makes it.',
    });
  }
  const made = typeof given === 'function' ? given(choice) : given;
  assertAlgorithm(made);
  return made;
}

/** What comes from a configuration file need not be what its type says. */
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
    remedy: 'See "Add an algorithm" in the README of @agentlightning/algorithms.',
  });
}
