import { AgentLightningError, type Algorithm } from '@agentlightning/core';
import { didYouMean } from '@agentlightning/core/settings';
import type { AlgorithmOptions, AlgorithmType } from './algorithm-options.ts';
import { custom } from './recipes/custom.ts';
import { distillation } from './recipes/distillation.ts';
import { dpo } from './recipes/dpo.ts';
import { kto } from './recipes/kto.ts';
import {
  cispo,
  dapo,
  drGrpo,
  grpo,
  gspo,
  ppo,
  reinforcePlusPlus,
  rejectionSampling,
  rloo,
} from './recipes/policy-gradient-recipes.ts';
import { sdpo } from './recipes/sdpo.ts';
import { sft } from './supervised/supervised.ts';

/** All algorithms. Each validates its options. */
const registry: Readonly<Record<AlgorithmType, (options: never) => Algorithm>> = {
  grpo,
  'dr-grpo': drGrpo,
  dapo,
  gspo,
  cispo,
  rloo,
  'reinforce++': reinforcePlusPlus,
  ppo,
  sft,
  'rejection-sampling': rejectionSampling,
  dpo,
  kto,
  sdpo,
  distillation,
  custom,
};

/** All names accepted by {@link createAlgorithm}. */
export const algorithmTypes: readonly AlgorithmType[] = Object.keys(registry).filter(isAlgorithmType);

/**
 * Creates the algorithm with these options.
 *
 * @throws AgentLightningError with code `CONFIG` when there is no such algorithm, or an option is wrong
 *
 * @example
 * ```ts
 * const algorithm = createAlgorithm({ type: 'grpo', groupSize: 8, learningRate: 2e-3 });
 * ```
 */
export function createAlgorithm(options: AlgorithmOptions): Algorithm {
  return madeOf(options);
}

/**
 * Validates the options of an algorithm from outside, such as a configuration file.
 *
 * @throws AgentLightningError with code `CONFIG` when there is no such algorithm, or an option is wrong
 *
 * @example
 * ```ts
 * const options = parseAlgorithmOptions({ type: 'grpo', groupSize: 8 });
 * ```
 */
export function parseAlgorithmOptions(options: unknown): AlgorithmOptions {
  madeOf(options);
  return options as AlgorithmOptions;
}

/** Recipes validate their options, so creating the algorithm validates them. */
function madeOf(options: unknown): Algorithm {
  const given: Readonly<Record<string, unknown>> = typeof options === 'object' ? { ...options } : {};
  const { type, ...rest } = given;
  // The recipe validates its options.
  if (isAlgorithmType(type)) return registry[type](rest as never);
  throw unknownRecipe(type, algorithmTypes);
}

function isAlgorithmType(name: unknown): name is AlgorithmType {
  return typeof name === 'string' && Object.hasOwn(registry, name);
}

/** The error for an unknown algorithm name. */
export function unknownRecipe(type: unknown, known: readonly string[]): AgentLightningError {
  return new AgentLightningError({
    code: 'CONFIG',
    message:
      typeof type === 'string'
        ? `algorithm: there is no algorithm "${type}"${didYouMean(type, known)}`
        : `algorithm: type must be a name, not ${JSON.stringify(type)}`,
    remedy: `Use one of ${known.join(', ')}.`,
  });
}
