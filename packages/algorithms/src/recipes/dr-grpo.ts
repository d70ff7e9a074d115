import { type PolicyGradientRecipe, policyGradientRecipe } from './policy-gradient-recipe.ts';

/**
 * GRPO without its biases: no division by the spread of a task's rewards, which favours tasks that nearly always or hardly
 * ever succeed, and no division by response length, which favours long failures. Liu et al., arXiv 2503.20783.
 *
 * Its own defaults: `advantage` dr-grpo (`R - mean(R)`), `aggregation` dr-grpo over 1,024 tokens. Set `tokens` to the
 * maximum response length; it only scales the step.
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
