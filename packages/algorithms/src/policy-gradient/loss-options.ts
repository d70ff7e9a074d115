import type { ValidationIssue } from '@agentlightning/core';
import type { ModelUpdate } from '@agentlightning/core/algorithm';
import type { LossSpec } from '@agentlightning/core/training-runtime';

/** The loss and its parameters. */
export interface LossOptions {
  /**
   * With `r` the probability ratio of the policy in training to the one that sampled, and `A` the advantage:
   *
   * - `ppo`: `max(-r·A, -clip(r, 1 - clipLow, 1 + clipHigh)·A)`, and at most `-dualClip·A` where `A < 0` (arXiv 1707.06347),
   * - `importance_sampling`: `-r·A`, for one update per step, where `r` stays near 1,
   * - `cispo`: `-stopgrad(clip(r, 1 - clipLow, 1 + clipHigh))·A·logprob`: clipped tokens still have a gradient (arXiv
   *   2506.13585),
   * - `gspo`: `ppo` with one ratio for the whole row, the geometric mean of its tokens' ratios (arXiv 2507.18071),
   * - `dro`: `-logprob·A + ½·droBeta·(logprob - samplingLogprob)²`, which penalises the squared distance from the sampler
   *   (arXiv 2405.19107).
   *
   * @default 'ppo'
   */
  readonly loss?: PolicyLoss;
  /** Lower clip range of the ratio, below 1; at least 0. @default 0.2 for `ppo`, 1 for `cispo`, 3e-4 for `gspo` */
  readonly clipLow?: number;
  /**
   * Upper clip range of the ratio, above 1; at least 0. An upper range larger than the lower one allows unlikely tokens to
   * become more likely (DAPO, arXiv 2503.14476, section 3.1).
   *
   * @default 0.28 for `ppo`, 3 for `cispo`, 4e-4 for `gspo`
   */
  readonly clipHigh?: number;
  /** Bound of `ppo` where `A < 0` (arXiv 1912.09729), more than 1; 0 disables it. @default 3 */
  readonly dualClip?: number;
  /** Weight of the squared distance from the sampler in `dro`, at least 0. @default 0.05 */
  readonly droBeta?: number;
  /**
   * Coefficient of the entropy bonus: the entropy of each token's distribution, in nats, times this is subtracted from its
   * loss. It preserves exploration. Updates whose advantages are all 0 are skipped. @default 0
   */
  readonly entropyCoefficient?: number;
  /**
   * Coefficient of the KL divergence, in nats, from the reference policy, which is the initial model of the run. Costs a
   * forward pass of that model.
   *
   * @default 0
   */
  readonly klCoefficient?: number;
  /**
   * Estimator of the KL divergence (Schulman 2020), with `d = logprob - referenceLogprob`: k1 is `d`, k2 `d²/2`, k3 `exp(-d)
   * + d - 1`. As a loss, k1 has an expected gradient of 0, k3 a biased one, and k2 the correct one on policy. In the reward,
   * k1 is unbiased.
   *
   * @default 'k3' in the loss, 'k1' in the reward
   */
  readonly klEstimator?: 'k1' | 'k2' | 'k3';
  /**
   * `loss`: added to each token's loss. `reward`: subtracted from the reward of the rollout, or with the advantage `gae`
   * from the reward of each token.
   *
   * @default 'loss'
   */
  readonly klPlacement?: 'loss' | 'reward';
  /** Coefficient of the value loss, half the squared error of the value head. With the advantage `gae` only. @default 0.5 */
  readonly valueCoefficient?: number;
  /**
   * Clip range of the value head around its output before the step, in units of reward; 0 disables the clip. With
   * the advantage `gae` only.
   *
   * @default 0.2
   */
  readonly valueClip?: number;
}

/** The losses of the runtime contract that use advantages. */
export type PolicyLoss = 'ppo' | 'importance_sampling' | 'cispo' | 'gspo' | 'dro';

/** All policy losses. */
export const lossNames: readonly PolicyLoss[] = ['ppo', 'importance_sampling', 'cispo', 'gspo', 'dro'];

/** The parameters of each loss with their defaults. */
const ownDefaults: Readonly<Record<PolicyLoss, Readonly<Record<string, number>>>> = {
  ppo: { clip_low: 0.2, clip_high: 0.28, dual_clip: 3 },
  cispo: { clip_low: 1, clip_high: 3 },
  gspo: { clip_low: 3e-4, clip_high: 4e-4 },
  dro: { beta: 0.05 },
  importance_sampling: {},
};

/**
 * The loss in the form of the runtime contract, with every parameter but an entropy bonus of 0.
 *
 * @param hasValueHead - whether a value head is trained together with the policy
 */
export function lossSpec(options: LossOptions, hasValueHead: boolean = false): LossSpec {
  const name = options.loss ?? 'ppo';
  return {
    name,
    parameters: {
      ...ownDefaults[name],
      ...ownParameters(options),
      // Absent when 0: some runtimes do not know the entropy.
      ...(options.entropyCoefficient ? { entropy_coefficient: options.entropyCoefficient } : {}),
      kl_coefficient: options.klCoefficient ?? 0,
      ...(options.klEstimator === undefined ? {} : { kl_estimator: Number(options.klEstimator.slice(1)) }),
      ...(hasValueHead
        ? { value_coefficient: options.valueCoefficient ?? 0.5, value_clip: options.valueClip ?? 0.2 }
        : {}),
    },
  };
}

/**
 * Whether a token whose advantage is 0 has a gradient under the loss. At `A = 0` the policy terms of `ppo`,
 * `importance_sampling`, `cispo` and `gspo` vanish. What remains is `½·beta·(logprob - samplingLogprob)²` of `dro`
 * (arXiv 2405.19107) and the entropy, KL and value terms that every loss can have.
 */
export function hasGradientWithoutAdvantage({ parameters }: LossSpec): boolean {
  return ['beta', 'entropy_coefficient', 'kl_coefficient', 'value_coefficient'].some(
    (parameter) => (parameters[parameter] ?? 0) > 0,
  );
}

/**
 * Whether all advantages of an update with an entropy bonus are 0 and it does not train a value head. Such a step is
 * skipped: it would only make the policy more random.
 */
export function isEntropyOnly({ batches, loss: { parameters } }: ModelUpdate): boolean {
  if ((parameters['entropy_coefficient'] ?? 0) <= 0 || (parameters['value_coefficient'] ?? 0) > 0) return false;
  return batches.every(({ data }) => data.every(({ advantages }) => advantages.every((advantage) => advantage === 0)));
}

/** Validation issues for parameters that the chosen loss does not have. */
export function lossIssues(options: LossOptions): readonly ValidationIssue[] {
  const name = options.loss ?? 'ppo';
  const known = Object.keys(ownDefaults[name]);
  return Object.keys(ownParameters(options))
    .filter((parameter) => !known.includes(parameter))
    .map((parameter) => ({
      path: ownOptionNames[parameter] ?? parameter,
      message: `the loss ${name} does not have it; leave it out or choose another loss`,
    }));
}

const ownOptionNames: Readonly<Record<string, keyof LossOptions>> = {
  clip_low: 'clipLow',
  clip_high: 'clipHigh',
  dual_clip: 'dualClip',
  beta: 'droBeta',
};

function ownParameters(options: LossOptions): Readonly<Record<string, number>> {
  const given = Object.entries(ownOptionNames).map(([parameter, option]) => [parameter, options[option]] as const);
  return Object.fromEntries(given.filter((entry): entry is [string, number] => typeof entry[1] === 'number'));
}
