import { type PolicyGradientRecipe, policyGradientRecipe } from './policy-gradient-recipe.ts';

/**
 * Clipped importance sampling policy optimisation: the clip bounds the weight of a token without removing its gradient, so
 * rare important tokens are still trained on. MiniMax-M1, arXiv 2506.13585.
 *
 * Its own defaults: `loss` cispo with ratios from 0 to 4 (`clipLow` 1, `clipHigh` 3).
 *
 * @throws AgentLightningError with code `CONFIG` when an option is wrong
 *
 * @example
 * ```ts
 * const algorithm = cispo({ minibatches: 2 });
 * ```
 */
export const cispo: PolicyGradientRecipe = policyGradientRecipe('cispo', { loss: 'cispo' });
