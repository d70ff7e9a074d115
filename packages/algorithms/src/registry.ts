import type { Algorithm } from '@agentlightning/core';
import { AgentLightningError } from '@agentlightning/core';
import type { AlgorithmOptions, AlgorithmType } from './algorithm-options.ts';
import { grpo } from './grpo/grpo.ts';
import { parseGrpoOptions } from './grpo/grpo-options.ts';

/** How options of one type are checked, and what is made of them. */
interface AlgorithmEntry {
  readonly parse: (options: unknown) => Omit<AlgorithmOptions, 'type'>;
  readonly create: (options: Omit<AlgorithmOptions, 'type'>) => Algorithm;
}

/** Every algorithm there is: a new one is a folder and a line here. */
const registry: Readonly<Record<AlgorithmType, AlgorithmEntry>> = {
  grpo: { parse: parseGrpoOptions, create: grpo },
};

/** The names that {@link createAlgorithm} knows. */
export const algorithmTypes: readonly AlgorithmType[] = Object.keys(registry).filter(isAlgorithmType);

/**
 * Checks the options of an algorithm that came from outside, such as a configuration file.
 *
 * @throws AgentLightningError with code `CONFIG` when there is no such algorithm, or an option is wrong
 *
 * @example
 * ```ts
 * const options = parseAlgorithmOptions({ type: 'grpo', groupSize: 8 });
 * ```
 */
export function parseAlgorithmOptions(options: unknown): AlgorithmOptions {
  const given: Readonly<Record<string, unknown>> = typeof options === 'object' ? { ...options } : {};
  const { type, ...rest } = given;
  if (!isAlgorithmType(type)) {
    throw new AgentLightningError({
      code: 'CONFIG',
      message: `algorithm: type must be one of ${Object.keys(registry).join(', ')}, not ${JSON.stringify(type)}`,
    });
  }
  return { type, ...registry[type].parse(rest) };
}

/**
 * Makes the algorithm that the options name.
 *
 * @throws AgentLightningError with code `CONFIG` when an option is wrong
 *
 * @example
 * ```ts
 * const algorithm = createAlgorithm({ type: 'grpo', groupSize: 8, learningRate: 2e-3 });
 * ```
 */
export function createAlgorithm(options: AlgorithmOptions): Algorithm {
  const { type, ...rest } = parseAlgorithmOptions(options);
  return registry[type].create(rest);
}

function isAlgorithmType(name: unknown): name is AlgorithmType {
  return typeof name === 'string' && Object.hasOwn(registry, name);
}
