import { type PolicyGradientRecipe, policyGradientRecipe } from './policy-gradient-recipe.ts';

/**
 * Decoupled clip and dynamic sampling: a clip range that is larger upwards than downwards, an average over all tokens, and
 * no groups of equal rewards. Yu et al., arXiv 2503.14476.
 *
 * Its own defaults: `clipLow` 0.2, `clipHigh` 0.28, `dualClip` 10, `aggregation` token-mean, `dropConstantGroups` true. Add
 * `overlongPenalty` when responses may be cut off. Dropped groups are not replaced by new samples: use more tasks per step.
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
