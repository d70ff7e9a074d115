import { type PolicyGradientRecipe, policyGradientRecipe } from './policy-gradient-recipe.ts';

/**
 * Group relative policy optimisation: tries every task several times and makes what went better than the task's
 * average more likely, what went worse less likely. No critic is needed.
 *
 * `A = (R - mean(R)) / (std(R) + 1e-6)` over the rollouts of a task, for every sampled token; then the clipped policy
 * gradient of PPO. DeepSeekMath, arXiv 2402.03300, section 4.1. Advantages are made per rollout, so that a
 * rollout of many turns does not count several times in the mean.
 *
 * @throws AgentLightningError with code `CONFIG` when an option is wrong
 *
 * @example
 * ```ts
 * const algorithm = grpo({ groupSize: 8, learningRate: 2e-3, entropyCoefficient: 0.02 });
 * const { updates, metrics } = algorithm.planStep(groups, { step: 1, totalSteps: 20, policyVersion: 0, seed: 0 });
 * ```
 */
export const grpo: PolicyGradientRecipe = policyGradientRecipe('grpo', {});
