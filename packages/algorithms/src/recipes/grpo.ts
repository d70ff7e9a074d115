import { type PolicyGradientRecipe, policyGradientRecipe } from './policy-gradient-recipe.ts';

/**
 * Group relative policy optimisation: samples several rollouts per task, makes rollouts above the task's mean reward more
 * likely and those below it less likely. It does not need a critic.
 *
 * `A = (R - mean(R)) / (std(R) + 1e-6)` over the rollouts of a task, for every sampled token; then the clipped policy
 * gradient of PPO. DeepSeekMath, arXiv 2402.03300, section 4.1. Advantages are computed per rollout, so that the number of
 * turns does not affect the mean.
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
