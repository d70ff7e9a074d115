import { type PolicyGradientRecipe, policyGradientRecipe } from './policy-gradient-recipe.ts';

/**
 * REINFORCE leave-one-out: the plain policy gradient with the mean of a task's other rollouts as baseline, unbiased at
 * any group size. Ahmadian et al., arXiv 2402.14740.
 *
 * Its own defaults: `groupSize` 4, `advantage` rloo, `loss` importance_sampling, and where `klCoefficient` is given, the KL term
 * is in the reward.
 *
 * @throws AgentLightningError with code `CONFIG` when an option is wrong
 *
 * @example
 * ```ts
 * const algorithm = rloo({ klCoefficient: 0.05 });
 * ```
 */
export const rloo: PolicyGradientRecipe = policyGradientRecipe('rloo', {
  groupSize: 4,
  advantage: { type: 'rloo' },
  loss: 'importance_sampling',
  klPlacement: 'reward',
});
