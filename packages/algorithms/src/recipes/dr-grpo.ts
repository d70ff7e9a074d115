import { type PolicyGradientRecipe, policyGradientRecipe } from './policy-gradient-recipe.ts';

/**
 * GRPO done right: no division by the spread of a task's rewards, which favours tasks that are nearly solved or
 * hopeless, and none by the length of answers, which favours long failures. Liu et al., arXiv 2503.20783.
 *
 * Its own defaults: `advantage` dr-grpo (`R - mean(R)`), `aggregation` dr-grpo over 1,024 tokens. Set `tokens` to the longest
 * answer that you allow; it scales the step and nothing else.
 *
 * @throws AgentLightningError with code `CONFIG` when an option is wrong
 *
 * @example
 * ```ts
 * const algorithm = drGrpo({ aggregation: { type: 'dr-grpo', tokens: 256 } });
 * ```
 */
export const drGrpo: PolicyGradientRecipe = policyGradientRecipe('dr-grpo', {
  advantage: { type: 'dr-grpo' },
  aggregation: { type: 'dr-grpo', tokens: 1024 },
});
