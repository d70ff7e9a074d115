/** Log-probability of all sampled tokens of a rollout, under the policy and under the reference. */
export interface ScoredResponse {
  readonly current: number;
  readonly reference: number;
}

/** The loss of one pair and its gradient. */
export interface PairLoss {
  /** `-log σ(β·Δ)`, at least 0. */
  readonly loss: number;
  /** `Δ`: by how much more than the reference the policy prefers the chosen response, in nats. */
  readonly margin: number;
  /** `β·σ(-β·Δ)`: minus the derivative by the chosen response's log-probability, and the derivative by the rejected one's. */
  readonly pull: number;
}

/**
 * Direct preference optimisation: `-log σ(β·Δ)` with
 * `Δ = (log p - log ref)(chosen) - (log p - log ref)(rejected)`.
 *
 * Rafailov et al., arXiv 2305.18290, equation 7. Its gradient, below that equation, is
 * `-β·σ(-β·Δ)·(∇log p(chosen) - ∇log p(rejected))`.
 */
export function pairLoss(chosen: ScoredResponse, rejected: ScoredResponse, beta: number): PairLoss {
  const margin = chosen.current - chosen.reference - (rejected.current - rejected.reference);
  // log(1 + e^x) without overflow.
  const x = -beta * margin;
  const loss = Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)));
  return { loss, margin, pull: beta / (1 + Math.exp(-x)) };
}
