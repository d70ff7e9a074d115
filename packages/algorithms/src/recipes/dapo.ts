import { type PolicyGradientRecipe, policyGradientRecipe } from './policy-gradient-recipe.ts';

/**
 * Decoupled clip and dynamic sampling: more room for unlikely tokens to rise than to fall, an average over all tokens,
 * and groups that teach nothing left out of it. Yu et al., arXiv 2503.14476.
 *
 * Its own defaults: `clipLow` 0.2, `clipHigh` 0.28, `dualClip` 10, `aggregation` token-mean, `dropConstantGroups` true. Add
 * `overlongPenalty` where answers may be cut off. Groups that are left out are not sampled anew: take more tasks a step.
 *
 * @throws AgentLightningError with code `CONFIG` when an option is wrong
 *
 * @example
 * ```ts
 * const algorithm = dapo({ overlongPenalty: { maxTokens: 512, bufferTokens: 128 } });
 * ```
 */
export const dapo: PolicyGradientRecipe = policyGradientRecipe('dapo', {
  dropConstantGroups: true,
  aggregation: 'token-mean',
  loss: 'ppo',
  clipLow: 0.2,
  clipHigh: 0.28,
  dualClip: 10,
});
