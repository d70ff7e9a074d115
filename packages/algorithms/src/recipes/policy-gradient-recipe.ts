import type { Algorithm } from '@agentlightning/core';
import { policyGradient } from '../policy-gradient/policy-gradient.ts';
import { type PolicyGradientOptions, parsePolicyGradientOptions } from '../policy-gradient/policy-gradient-options.ts';

/** Makes an algorithm of options. */
export type PolicyGradientRecipe = (options?: PolicyGradientOptions) => Algorithm;

/**
 * A recipe of the policy-gradient family: a name, and what is different from the defaults.
 *
 * @example
 * ```ts
 * export const cautious: PolicyGradientRecipe = policyGradientRecipe('cautious', { klCoefficient: 0.05, clipHigh: 0.2 });
 * ```
 */
export function policyGradientRecipe(name: string, defaults: PolicyGradientOptions): PolicyGradientRecipe {
  return (options = {}) => policyGradient(name, parsePolicyGradientOptions(name, defaults, options));
}
