import { type PolicyGradientRecipe, policyGradientRecipe } from './policy-gradient-recipe.ts';

/**
 * Proximal policy optimisation with a value head: tokens with outcomes above the predicted value become more likely. One
 * rollout per task is enough, and credit is assigned within long rollouts. Schulman et al., arXiv 1707.06347; advantages:
 * Schulman et al., arXiv 1506.02438.
 *
 * Its own defaults: `groupSize` 1, `advantage` gae with `discount` and `lambda` 1, whitened, `clipHigh` 0.2, `epochs` 2,
 * `minibatches` 2; `valueCoefficient` 0.5 and `valueClip` 0.2. Until the value head is trained, advantages are returns minus
 * their mean, so use more rollouts per step than with GRPO, or a `groupSize` above 1.
 *
 * @throws AgentLightningError with code `CONFIG` when an option is wrong
 *
 * @example
 * ```ts
 * const algorithm = ppo({ advantage: { type: 'gae', lambda: 0.95 }, epochs: 4 });
 * ```
 */
export const ppo: PolicyGradientRecipe = policyGradientRecipe('ppo', {
  groupSize: 1,
  advantage: { type: 'gae' },
  clipHigh: 0.2,
  epochs: 2,
  minibatches: 2,
});
