import type { Algorithm } from '@agentlightning/core';
import { policyGradient } from '../policy-gradient/policy-gradient.ts';
import { type PolicyGradientOptions, parsePolicyGradientOptions } from '../policy-gradient/policy-gradient-options.ts';
import { supervised } from '../supervised/supervised.ts';
import { parseSupervisedOptions, type SupervisedOptions } from '../supervised/supervised-options.ts';

/** Creates a policy-gradient algorithm. */
export type PolicyGradientRecipe = (options?: PolicyGradientOptions) => Algorithm;

/**
 * Creates a recipe of the policy-gradient family from a name and defaults that differ from {@link PolicyGradientOptions}.
 *
 * @example
 * ```ts
 * export const cautious: PolicyGradientRecipe = policyGradientRecipe('cautious', { klCoefficient: 0.05, clipHigh: 0.2 });
 * ```
 */
export function policyGradientRecipe(name: string, defaults: PolicyGradientOptions): PolicyGradientRecipe {
  return (options = {}) => policyGradient(name, parsePolicyGradientOptions(name, defaults, options));
}

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

/**
 * Rejection sampling: samples several rollouts per task and fine-tunes on the best, if its reward is high enough. Slower
 * than a policy gradient, because it does not use failures, but robust.
 *
 * RAFT: Dong et al., arXiv 2304.06767. Its own defaults: `groupSize` 8, `keepBest` 1. Set `minReward`: without it, the best
 * rollout of a task is imitated even when all of them failed.
 *
 * @throws AgentLightningError with code `CONFIG` when an option is wrong
 *
 * @example
 * ```ts
 * const algorithm = rejectionSampling({ minReward: 0.9 });
 * ```
 */
export function rejectionSampling(options: SupervisedOptions = {}): Algorithm {
  const settings = parseSupervisedOptions('rejection-sampling', { groupSize: 8, keepBest: 1 }, options);
  return supervised('rejection-sampling', settings);
}

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

/**
 * Group sequence policy optimisation: clips the ratio of whole responses instead of single tokens, which suits rewards of
 * whole responses and models with noisy token probabilities. Zheng et al., arXiv 2507.18071.
 *
 * Its own defaults: `loss` gspo with `clipLow` 3e-4 and `clipHigh` 4e-4, `aggregation` seq-mean. The clip range is narrow
 * because the ratio is a mean over tokens; it only takes effect with several `minibatches` or `epochs`.
 *
 * @throws AgentLightningError with code `CONFIG` when an option is wrong
 *
 * @example
 * ```ts
 * const algorithm = gspo({ groupSize: 16, minibatches: 4 });
 * ```
 */
export const gspo: PolicyGradientRecipe = policyGradientRecipe('gspo', { loss: 'gspo', aggregation: 'seq-mean' });

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

/**
 * Clipped importance sampling policy optimisation: the clip bounds the weight of a token without removing its gradient, so
 * rare important tokens are still trained on. MiniMax-M1, arXiv 2506.13585.
 *
 * Its own defaults: `loss` cispo with ratios from 0 to 4 (`clipLow` 1, `clipHigh` 3).
 *
 * @throws AgentLightningError with code `CONFIG` when an option is wrong
 *
 * @example
 * ```ts
 * const algorithm = cispo({ minibatches: 2 });
 * ```
 */
export const cispo: PolicyGradientRecipe = policyGradientRecipe('cispo', { loss: 'cispo' });
