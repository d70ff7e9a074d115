import type { LossSpec, ValidationIssue } from '@agentlightning/core';

/** Which loss is used, and its parameters. */
export interface LossOptions {
  /**
   * With `r` the probability ratio of the policy in training to the one that sampled, and `A` the advantage:
   *
   * - `ppo`: `max(-r·A, -clip(r, 1 - clipLow, 1 + clipHigh)·A)`, and at most `-dualClip·A` where `A < 0`,
   * - `importance_sampling`: `-r·A`, for one update a step, where `r` stays near 1,
   * - `cispo`: `-stopgrad(clip(r, 1 - clipLow, 1 + clipHigh))·A·logprob`: clipped tokens still give a gradient.
   *
   * @default 'ppo'
   */
  readonly loss?: 'ppo' | 'importance_sampling' | 'cispo';
  /** How far below 1 the ratio may go, at least 0. @default 0.2 for `ppo`, 1 for `cispo` */
  readonly clipLow?: number;
  /**
   * How far above 1 the ratio may go, at least 0. More room above than below lets unlikely tokens rise (DAPO, arXiv
   * 2503.14476, section 3.1).
   *
   * @default 0.28 for `ppo`, 3 for `cispo`
   */
  readonly clipHigh?: number;
  /** Bound of `ppo` where `A < 0` (arXiv 1912.09729), more than 1; 0 sets no bound. @default 3 */
  readonly dualClip?: number;
  /** Times the entropy in nats of each token's distribution, subtracted from its loss. Keeps exploration up. @default 0 */
  readonly entropyCoefficient?: number;
  /**
   * Times the estimated KL divergence from a reference policy in nats, added to each token's loss. The data then
   * need `referenceLogprobs`, see `withReferenceLogprobs`.
   *
   * @default 0
   */
  readonly klCoefficient?: number;
}

const clipDefaults = {
  ppo: { clip_low: 0.2, clip_high: 0.28, dual_clip: 3 },
  cispo: { clip_low: 1, clip_high: 3 },
  importance_sampling: {},
} as const;

/** The loss as the runtime takes it, with every parameter named. */
export function lossSpec(options: LossOptions): LossSpec {
  const name = options.loss ?? 'ppo';
  return {
    name,
    parameters: {
      ...clipDefaults[name],
      ...clipParameters(options),
      entropy_coefficient: options.entropyCoefficient ?? 0,
      kl_coefficient: options.klCoefficient ?? 0,
    },
  };
}

/** The parameters that the chosen loss does not have: a setting without effect is a mistake. */
export function lossIssues(options: LossOptions): readonly ValidationIssue[] {
  const name = options.loss ?? 'ppo';
  const known = Object.keys(clipDefaults[name]);
  return Object.keys(clipParameters(options))
    .filter((parameter) => !known.includes(parameter))
    .map((parameter) => ({
      path: clipOptionNames[parameter] ?? parameter,
      message: `the loss ${name} does not have it; leave it out or choose another loss`,
    }));
}

const clipOptionNames: Readonly<Record<string, keyof LossOptions>> = {
  clip_low: 'clipLow',
  clip_high: 'clipHigh',
  dual_clip: 'dualClip',
};

function clipParameters(options: LossOptions): Readonly<Record<string, number>> {
  const given = Object.entries(clipOptionNames).map(([parameter, option]) => [parameter, options[option]] as const);
  return Object.fromEntries(given.filter((entry): entry is [string, number] => typeof entry[1] === 'number'));
}
