/** Consecutive sampled tokens with their rewards and values. */
export interface ValuedTokens {
  /** `r_t`: the reward right after each token; 0 without one. */
  readonly rewards: ArrayLike<number>;
  /** `V(s_t)`: the value predicted before each token. */
  readonly values: ArrayLike<number>;
}

/** The state after the last token. */
export interface TokensAhead {
  /** `V` of this state: 0 at the end of an episode. */
  readonly value: number;
  /** The advantage of the next token; 0 when unknown. */
  readonly advantage: number;
}

/** The end of an episode. */
export const nothingAhead: TokensAhead = { value: 0, advantage: 0 };

/** Parameters of generalised advantage estimation. */
export interface LookAhead {
  /** `γ`, the discount factor. */
  readonly discount: number;
  /** `λ`, the weight of observed rewards relative to values. */
  readonly lambda: number;
}

/**
 * Generalised advantage estimates: `A_t = δ_t + γλ·A_(t+1)` with `δ_t = r_t + γ·V(s_(t+1)) - V(s_t)`, which is the sum
 * `Σ_l (γλ)^l·δ_(t+l)` (Schulman et al. 2016, arXiv 1506.02438, equation 16). With `λ = 1` it is the discounted
 * return-to-go less the value; with `λ = 0` the error of the value from one token to the next.
 *
 * @param tokens - rewards and values of equal length
 * @param ahead - the state after the last token: the next sampled token, a bootstrap value where the episode was cut off, or
 *   {@link nothingAhead}
 */
export function generalizedAdvantages(
  { rewards, values }: ValuedTokens,
  ahead: TokensAhead,
  { discount, lambda }: LookAhead,
): Float64Array {
  const advantages = new Float64Array(values.length);
  let { value: nextValue, advantage: nextAdvantage } = ahead;
  for (let token = values.length - 1; token >= 0; token -= 1) {
    const value = values[token] ?? 0;
    const error = (rewards[token] ?? 0) + discount * nextValue - value;
    nextAdvantage = error + discount * lambda * nextAdvantage;
    nextValue = value;
    advantages[token] = nextAdvantage;
  }
  return advantages;
}
