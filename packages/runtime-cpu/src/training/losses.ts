import type { LossName } from '@agentlightning/runtime/internal/losses';
import { lax, numpy as np, tree } from '@jax-js/jax';

/** Inputs of a loss: rows × trained tokens, one row per datum; padding has `isTrained` false. */
export type LossInput = {
  /** Log-probability under the trained weights, at the sampling temperature. Differentiable. */
  logprobs: np.Array;
  /** Entropy in nats of the token's distribution. Differentiable. */
  entropies: np.Array;
  /** Log-probability when the token was sampled. */
  samplingLogprobs: np.Array;
  /** Log-probability under the reference policy. */
  referenceLogprobs: np.Array;
  advantages: np.Array;
  /** Weight of the token in the sum. */
  weights: np.Array;
  /** Output of the value head before the token. Differentiable. Only with a value head, as the next two. */
  values?: np.Array;
  /** Target of the value head. */
  valueTargets?: np.Array;
  /** Output of the value head when the batch was planned. */
  samplingValues?: np.Array;
  /** False for padding: the gradient there is exactly zero, regardless of the values. */
  isTrained: np.Array;
};

/** A loss's parameters as scalars, so that changed values need no recompilation. */
export type LossScalars = Record<string, np.Array>;

/** The loss of each token, minimised, before weighting. Takes ownership of what it uses. */
type TokenLoss = (input: PolicyTerms, scalars: LossScalars) => np.Array;

type PolicyTerms = {
  logprobs: np.Array;
  /** logprob − sampling logprob. */
  logRatio: np.Array;
  advantages: np.Array;
  isTrained: np.Array;
};

/** Log-ratios are clamped to ±20 before exponentiation (as verl does), so that one outlier cannot overflow. */
const maxLogRatio = 20;

/** The token losses by name. `r` is exp(logprob − sampling logprob), `A` the advantage, `lp` the log-probability. */
const tokenLosses: Readonly<Record<LossName, TokenLoss>> = {
  /** −lp: maximum likelihood. */
  cross_entropy: ({ logprobs, ...unused }) => {
    tree.dispose(unused);
    return logprobs.neg();
  },
  /** −r·A: the policy gradient with importance sampling (Sutton & Barto 2018, section 13.3; Precup et al. 2000). */
  importance_sampling: ({ logRatio, advantages, ...unused }) => {
    tree.dispose(unused);
    return ratioOf(logRatio).mul(advantages).neg();
  },
  /**
   * max(−r·A, −clip(r, 1−low, 1+high)·A), for A < 0 at most −dual·A when dual > 0: Schulman et al., arXiv 1707.06347; a
   * separate upper clip, arXiv 2503.14476; the dual clip, arXiv 1912.09729.
   */
  ppo: ({ logRatio, advantages, ...unused }, scalars) => {
    tree.dispose(unused);
    const unbounded = worseOfClipped(ratioOf(logRatio), advantages.ref, scalars);
    const dual = scalar(scalars, 'dual_clip');
    const bound = advantages.ref.mul(dual.ref).neg();
    const isBounded = np.where(advantages.less(0), dual.greater(0), false);
    return np.where(isBounded, np.minimum(unbounded.ref, bound), unbounded);
  },
  /** −stop_gradient(clip(r, 1−low, 1+high))·A·lp: MiniMax, arXiv 2506.13585. */
  cispo: ({ logprobs, logRatio, advantages, isTrained }, scalars) => {
    isTrained.dispose();
    return lax
      .stopGradient(clipRatio(ratioOf(logRatio), scalars))
      .mul(advantages)
      .mul(logprobs)
      .neg();
  },
  /**
   * As ppo without the dual bound, of s = exp(mean over the row of logprob − sampling logprob): Zheng et al., arXiv
   * 2507.18071, in its form by token.
   */
  gspo: ({ logprobs, logRatio, advantages, isTrained }, scalars) => {
    const count = np.maximum(isTrained.astype(np.float32).sum(-1, { keepdims: true }), 1);
    const ofRow = logRatio.sum(-1, { keepdims: true }).div(count);
    // The value is the row's; the gradient of each token is that of the token's log-probability.
    const ofToken = lax.stopGradient(ofRow).add(logprobs.ref).sub(lax.stopGradient(logprobs));
    return worseOfClipped(ratioOf(ofToken), advantages, scalars);
  },
  /** −lp·A + beta/2·(logprob − sampling logprob)²: Richemond et al., arXiv 2405.19107. */
  dro: ({ logprobs, logRatio, advantages, isTrained }, scalars) => {
    isTrained.dispose();
    const away = np.square(logRatio).mul(scalar(scalars, 'beta')).mul(0.5);
    return away.sub(logprobs.mul(advantages));
  },
};

/**
 * The plain sum over trained tokens of weight × (token loss − entropy_coefficient × entropy + kl_coefficient ×
 * KL estimate + value_coefficient × error of the value). Normalisation is the caller's, through the weights. Takes
 * ownership of its arguments.
 */
export function lossSum(name: LossName, input: LossInput, scalars: LossScalars): np.Array {
  const isTrained = input.isTrained;
  // `where` instead of a product: 0 × NaN is NaN, in the loss and in the gradient.
  const trained = (values: np.Array): np.Array => np.where(isTrained.ref, values, 0);
  const logprobs = trained(input.logprobs);
  const terms = {
    logprobs: logprobs.ref,
    logRatio: logprobs.ref.sub(trained(input.samplingLogprobs)),
    advantages: trained(input.advantages),
    isTrained: isTrained.ref,
  };
  const policy = tokenLosses[name](terms, scalars);
  const entropy = trained(input.entropies).mul(scalar(scalars, 'entropy_coefficient'));
  const kl = klEstimate(logprobs.sub(trained(input.referenceLogprobs)), scalar(scalars, 'kl_estimator'));
  const ofPolicy = policy.sub(entropy).add(kl.mul(scalar(scalars, 'kl_coefficient')));
  const { values, valueTargets, samplingValues } = input;
  const total =
    values === undefined || valueTargets === undefined || samplingValues === undefined
      ? ofPolicy
      : ofPolicy.add(valueError(trained(values), trained(valueTargets), { old: trained(samplingValues), scalars }));
  const weighted = total.mul(trained(input.weights));
  return np.where(isTrained, weighted, 0).sum();
}

/** k1 = d, k2 = d²/2, k3 = exp(−d) + d − 1, of d = lp − ref (Schulman 2020). */
function klEstimate(difference: np.Array, estimator: np.Array): np.Array {
  const bounded = np.clip(difference.ref, -maxLogRatio, maxLogRatio);
  const k2 = np.square(difference.ref).mul(0.5);
  const k3 = np.exp(bounded.ref.neg()).add(bounded).sub(1);
  return np.where(estimator.ref.equal(1), difference, np.where(estimator.equal(2), k2, k3));
}

/**
 * value_coefficient/2 × max((V − R)², (clip(V, V_old ± value_clip) − R)²), without the clip where it is 0: as PPO's
 * implementations have it (Huang et al. 2022, "The 37 implementation details of PPO", detail 9).
 */
function valueError(
  values: np.Array,
  targets: np.Array,
  { old, scalars }: { readonly old: np.Array; readonly scalars: LossScalars },
): np.Array {
  const clip = scalar(scalars, 'value_clip');
  const held = np.minimum(np.maximum(values.ref, old.ref.sub(clip.ref)), old.add(clip.ref));
  const plain = np.square(values.sub(targets.ref));
  const clipped = np.square(held.sub(targets));
  const error = np.where(clip.greater(0), np.maximum(plain.ref, clipped), plain);
  return error.mul(0.5).mul(scalar(scalars, 'value_coefficient'));
}

function ratioOf(logRatio: np.Array): np.Array {
  return np.exp(np.clip(logRatio, -maxLogRatio, maxLogRatio));
}

/** max(−r·A, −clip(r, 1−low, 1+high)·A) */
function worseOfClipped(ratio: np.Array, advantages: np.Array, scalars: LossScalars): np.Array {
  const clipped = clipRatio(ratio.ref, scalars);
  return np.maximum(ratio.mul(advantages.ref).neg(), clipped.mul(advantages).neg());
}

function clipRatio(ratio: np.Array, scalars: LossScalars): np.Array {
  const low = np.subtract(1, scalar(scalars, 'clip_low'));
  return np.minimum(np.maximum(ratio, low), scalar(scalars, 'clip_high').add(1));
}

function scalar(scalars: LossScalars, name: string): np.Array {
  return (scalars[name] as np.Array).ref;
}
