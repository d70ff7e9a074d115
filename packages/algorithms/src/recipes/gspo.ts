import { type PolicyGradientRecipe, policyGradientRecipe } from './policy-gradient-recipe.ts';

/**
 * Group sequence policy optimisation: clips by the ratio of whole answers instead of single tokens, which suits
 * rewards that judge whole answers, and models whose token probabilities are noisy. Zheng et al., arXiv 2507.18071.
 *
 * Its own defaults: `loss` gspo with `clipLow` 3e-4 and `clipHigh` 4e-4, `aggregation` seq-mean. The narrow clip is right for a
 * ratio that is a mean over tokens; it takes effect only with several `minibatches` or `epochs`.
 *
 * @throws AgentLightningError with code `CONFIG` when an option is wrong
 *
 * @example
 * ```ts
 * const algorithm = gspo({ groupSize: 16, minibatches: 4 });
 * ```
 */
export const gspo: PolicyGradientRecipe = policyGradientRecipe('gspo', { loss: 'gspo', aggregation: 'seq-mean' });
