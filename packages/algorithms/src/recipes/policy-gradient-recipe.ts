import type { Algorithm } from '@agentlightning/core';
import { policyGradient } from '../policy-gradient/policy-gradient.ts';
import { type PolicyGradientOptions, parsePolicyGradientOptions } from '../policy-gradient/policy-gradient-options.ts';

/** Creates a policy-gradient algorithm. */
export type PolicyGradientRecipe = (options?: PolicyGradientOptions) => Algorithm;

/**
 * Creates a recipe of the policy-gradient family from a name and defaults that differ from {@link PolicyGradientOptions}.
 *
 * @example
 * ```ts
 * export const cautious: PolicyGradientRecipe = policyGradientRecipe('cautious', { klCoefficient: 0.05, clipHigh: 0.2 });
 * ```
 */
export function policyGradientRecipe(name: string, defaults: PolicyGradientOptions): PolicyGradientRecipe {
  return (options = {}) => policyGradient(name, parsePolicyGradientOptions(name, defaults, options));
}
