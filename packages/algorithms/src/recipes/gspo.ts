import { type PolicyGradientRecipe, policyGradientRecipe } from './policy-gradient-recipe.ts';

/**
 * Group sequence policy optimisation: clips the ratio of whole responses instead of single tokens, which suits rewards of
 * whole responses and models with noisy token probabilities. Zheng et al., arXiv 2507.18071.
 *
 * Its own defaults: `loss` gspo with `clipLow` 3e-4 and `clipHigh` 4e-4, `aggregation` seq-mean. The clip range is narrow
 * because the ratio is a mean over tokens; it only takes effect with several `minibatches` or `epochs`.
 *
 * @throws AgentLightningError with code `CONFIG` when an option is wrong
 *
 * @example
 * ```ts
 * const algorithm = gspo({ groupSize: 16, minibatches: 4 });
 * ```
 */
export const gspo: PolicyGradientRecipe = policyGradientRecipe('gspo', { loss: 'gspo', aggregation: 'seq-mean' });
