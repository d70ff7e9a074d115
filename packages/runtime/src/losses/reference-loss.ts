/** One trained token, as a loss sees it. */
export interface ScoredToken {
  /** Natural log-probability under the weights being trained. */
  readonly logprob: number;
  /** Natural log-probability when it was sampled. */
  readonly samplingLogprob: number;
  /** Natural log-probability under the reference policy; needed when `kl_coefficient` is not 0. */
  readonly referenceLogprob?: number | undefined;
  /** Weight of the token, of either sign. */
  readonly advantage: number;
  /** Mean of `logprob - samplingLogprob` over the trained tokens of the datum; needed for `gspo`. */
  readonly meanLogRatio?: number | undefined;
  /** Entropy of the distribution it was scored under, in nats. */
  readonly entropy: number;
  /** Output of the value head before the token; needed when `value_coefficient` is not 0, as is the next. */
  readonly value?: number | undefined;
  /** The return that the value head should predict. */
  readonly valueTarget?: number | undefined;
  /** Output of the value head when the batch was planned; needed when `value_clip` is not 0. */
  readonly samplingValue?: number | undefined;
}

/** The loss of one token before weighting, and its derivatives. */
export interface TokenLoss {
  /** The loss. */
  readonly value: number;
  /** Derivative by the token's log-probability. */
  readonly logprobSlope: number;
  /** Derivative by the entropy. */
  readonly entropySlope: number;
  /** Derivative by the output of the value head. */
  readonly valueSlope: number;
}

/** A loss with a value for every parameter. */
export interface NamedLoss {
  /** Name in LOSSES.md. */
  readonly name: string;
  /** Values by the names in LOSSES.md. */
  readonly parameters: Readonly<Record<string, number>>;
}

interface Term {
  readonly value: number;
  readonly slope: number;
}

/** Bound of the logarithm of a ratio. */
export const maxLogRatio = 20;

/** The formulas of LOSSES.md for one token, with their derivatives. */
export function referenceTokenLoss(loss: NamedLoss, token: ScoredToken): TokenLoss {
  const policy = policyTerm(loss, token);
  const kl = klTerm(loss, token);
  const klCoefficient = parameter(loss, 'kl_coefficient');
  const critic = criticTerm(loss, token);
  const entropyCoefficient = parameter(loss, 'entropy_coefficient');
  const valueCoefficient = parameter(loss, 'value_coefficient');
  return {
    value:
      policy.value + klCoefficient * kl.value - entropyCoefficient * token.entropy + valueCoefficient * critic.value,
    logprobSlope: policy.slope + klCoefficient * kl.slope,
    entropySlope: -entropyCoefficient,
    valueSlope: valueCoefficient * critic.slope,
  };
}

function policyTerm(loss: NamedLoss, token: ScoredToken): Term {
  const { logprob, samplingLogprob, advantage } = token;
  const logRatio = logprob - samplingLogprob;
  const ratio = Math.exp(clamp(logRatio, -maxLogRatio, maxLogRatio));
  const ratioSlope = Math.abs(logRatio) <= maxLogRatio ? ratio : 0;
  switch (loss.name) {
    case 'cross_entropy':
      return { value: -logprob, slope: -1 };
    case 'importance_sampling':
      return { value: -ratio * advantage, slope: -ratioSlope * advantage };
    case 'ppo':
      return ppoTerm(loss, advantage, { value: ratio, slope: ratioSlope });
    case 'gspo': {
      // The slope by the token's own log-probability: the ratio of the row is held, that of the token is at 1.
      const mean = token.meanLogRatio ?? logRatio;
      const ofRow = Math.exp(clamp(mean, -maxLogRatio, maxLogRatio));
      return ppoTerm(loss, advantage, { value: ofRow, slope: Math.abs(mean) <= maxLogRatio ? ofRow : 0 });
    }
    case 'dro': {
      const beta = parameter(loss, 'beta');
      return { value: (beta / 2) * logRatio ** 2 - logprob * advantage, slope: beta * logRatio - advantage };
    }
    default: {
      const weight = clamp(ratio, ...clipRange(loss)) * advantage;
      return { value: -weight * logprob, slope: -weight };
    }
  }
}

function ppoTerm(loss: NamedLoss, advantage: number, ratio: Term): Term {
  const clipped = clamp(ratio.value, ...clipRange(loss));
  const plain = -ratio.value * advantage;
  const bounded = -clipped * advantage;
  const worse: Term =
    plain >= bounded ? { value: plain, slope: -ratio.slope * advantage } : { value: bounded, slope: 0 };
  const dualClip = parameter(loss, 'dual_clip');
  const ceiling = -advantage * dualClip;
  const isAbove = advantage < 0 && dualClip > 0 && worse.value > ceiling;
  return isAbove ? { value: ceiling, slope: 0 } : worse;
}

function klTerm(loss: NamedLoss, { logprob, referenceLogprob }: ScoredToken): Term {
  if (referenceLogprob === undefined) return { value: 0, slope: 0 };
  const difference = logprob - referenceLogprob;
  switch (parameter(loss, 'kl_estimator')) {
    case 1:
      return { value: difference, slope: 1 };
    case 2:
      return { value: difference ** 2 / 2, slope: difference };
    default: {
      const bounded = clamp(difference, -maxLogRatio, maxLogRatio);
      const slope = bounded === difference ? 1 - Math.exp(-bounded) : 0;
      return { value: Math.exp(-bounded) + bounded - 1, slope };
    }
  }
}

/** Half the squared error; of the clipped value where that is worse. */
function criticTerm(loss: NamedLoss, { value, valueTarget, samplingValue }: ScoredToken): Term {
  if (value === undefined || valueTarget === undefined) return { value: 0, slope: 0 };
  const plain: Term = { value: (value - valueTarget) ** 2 / 2, slope: value - valueTarget };
  const clip = parameter(loss, 'value_clip');
  if (clip === 0 || samplingValue === undefined) return plain;
  const held = clamp(value, samplingValue - clip, samplingValue + clip);
  const clipped = (held - valueTarget) ** 2 / 2;
  // A clipped value has no gradient.
  return clipped > plain.value ? { value: clipped, slope: held === value ? plain.slope : 0 } : plain;
}

function clipRange(loss: NamedLoss): [low: number, high: number] {
  return [1 - parameter(loss, 'clip_low'), 1 + parameter(loss, 'clip_high')];
}

function parameter(loss: NamedLoss, name: string): number {
  return loss.parameters[name] ?? 0;
}

function clamp(value: number, low: number, high: number): number {
  return Math.min(Math.max(value, low), high);
}
