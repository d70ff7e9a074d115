import { type PolicyGradientRecipe, policyGradientRecipe } from './policy-gradient-recipe.ts';

/**
 * REINFORCE with PPO's clipping and no critic: advantages are normalised over the whole batch, so one rollout per task is
 * enough and the budget can cover more tasks. Hu et al., arXiv 2501.03262.
 *
 * Its own defaults: `groupSize` 1, `advantage` reinforce++, and where `klCoefficient` is given, the KL term is in the
 * reward. For the variant with a baseline, use `{ groupSize: 8, advantage: { type: 'reinforce++-baseline' } }`.
 *
 * @throws AgentLightningError with code `CONFIG` when an option is wrong
 *
 * @example
 * ```ts
 * const algorithm = reinforcePlusPlus({ groupSize: 8, advantage: { type: 'reinforce++-baseline' } });
 * ```
 */
export const reinforcePlusPlus: PolicyGradientRecipe = policyGradientRecipe('reinforce++', {
  groupSize: 1,
  advantage: { type: 'reinforce++' },
  klPlacement: 'reward',
});
