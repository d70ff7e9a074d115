import { ValidationError } from '@agentlightning/core';
import type { CreditAssignment, Trajectory } from '@agentlightning/core/algorithm';

/** Options of {@link perTurnCredit}. */
export interface PerTurnCreditOptions {
  /**
   * Discount factor per turn, `γ`, from 0 to 1. At 0 a turn has its own reward only, which suits rewards that judge the turn
   * itself; at 1 it has the sum of all later rewards too.
   *
   * @default 0
   */
  readonly discount?: number;
}

/**
 * The discounted return-to-go of each turn, in order of sequence id: `G_k = r_k + γ·G_(k+1)` (Sutton & Barto 2018,
 * section 3.3).
 *
 * The rollout's reward is added to the reward of the last turn, unless the reward of a trained turn already includes it
 * (`Trajectory.rewardedCall`). A turn without its own or later rewards has no return and is not trained on. The choices of
 * one call are one turn.
 *
 * @throws ValidationError when the discount is not in `[0, 1]`
 *
 * @example
 * ```ts
 * const credit = perTurnCredit({ discount: 0.9 });
 * credit.assign(trajectory); // [[0.25 + 0.9 * 0.5, 0.5]] for one row whose turns were rewarded 0.25 and 0.5
 * ```
 */
export function perTurnCredit(options: PerTurnCreditOptions = {}): CreditAssignment {
  const discount = options.discount ?? 0;
  if (!(discount >= 0 && discount <= 1)) {
    throw new ValidationError('The per-turn credit assignment', [
      { path: 'discount', message: `must be from 0 to 1, not ${discount}` },
    ]);
  }
  return {
    name: 'per-turn',
    scope: 'turn',
    assign: (trajectory) => {
      const returns = returnsToGo(turnRewards(trajectory), discount);
      const isCredited = [...returns.values()].some((value) => value !== null);
      if (!isCredited && trajectory.reward === null) return null;
      return trajectory.rows.map((row) => row.trained.map(({ sequenceId }) => returns.get(sequenceId) ?? null));
    },
  };
}

/** The reward of each turn, by sequence id, the last turn first; the rollout's reward is included once. */
export function turnRewards({ rows, reward, rewardedCall }: Trajectory): readonly (readonly [number, number | null])[] {
  const bySequence = new Map(rows.flatMap((row) => row.trained.map((turn) => [turn.sequenceId, turn.reward])));
  const lastFirst = [...bySequence].sort(([one], [other]) => other - one);
  const isIncluded = bySequence.has(rewardedCall ?? Number.NaN);
  if (isIncluded || reward === null) return lastFirst;
  return lastFirst.map(([sequenceId, own], index) => [sequenceId, index === 0 ? (own ?? 0) + reward : own]);
}

function returnsToGo(
  lastFirst: readonly (readonly [number, number | null])[],
  discount: number,
): ReadonlyMap<number, number | null> {
  const returns = new Map<number, number | null>();
  let later: number | null = null;
  for (const [sequenceId, own] of lastFirst) {
    // With a discount of 0, later turns do not give this one a return.
    const future: number | null = discount === 0 || later === null ? null : discount * later;
    later = own === null && future === null ? null : (own ?? 0) + (future ?? 0);
    returns.set(sequenceId, later);
  }
  return returns;
}
