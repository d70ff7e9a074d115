/** Estimators of the KL divergence of a token (Schulman 2020). */
export type KlEstimator = 'k1' | 'k2' | 'k3';

/** KL penalty in the reward. */
export interface KlPenalty {
  /** `β`, at least 0. */
  readonly coefficient: number;
  readonly estimator: KlEstimator;
}

/** Limit of the log-ratio in k3, which grows exponentially; the same limit as in the losses. */
const maxLogRatio = 20;

/**
 * The estimated KL divergence of a sampled token from the reference policy, in nats, with `d = log q - log ref`: k1 is `d`, k2
 * `d²/2`, k3 `exp(-d) + d - 1` (Schulman, "Approximating KL divergence", 2020).
 *
 * @param logRatio - `d`
 */
export function klEstimate(logRatio: number, estimator: KlEstimator): number {
  switch (estimator) {
    case 'k1':
      return logRatio;
    case 'k2':
      return logRatio ** 2 / 2;
    case 'k3': {
      const bounded = Math.min(Math.max(logRatio, -maxLogRatio), maxLogRatio);
      return Math.expm1(-bounded) + bounded;
    }
  }
}
