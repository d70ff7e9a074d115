import type { Trajectory } from './trajectory.ts';

/**
 * Distributes the outcome of a rollout over its turns: the first level of hierarchical
 * credit assignment (LightningRL, arXiv 2508.03680, section 3.3).
 */
export interface CreditAssignment {
  /** Name in configurations, such as `terminal`. */
  readonly name: string;
  /**
   * Unit of comparison. `rollout`: all turns of a rollout share one return, and rollouts are compared. `agent`: all
   * turns of an agent share one return, and each agent is compared with itself in the group's other rollouts. `turn`:
   * returns differ per turn, and an agent's n-th turn is compared with its n-th turns in the group's other rollouts.
   */
  readonly scope: 'rollout' | 'agent' | 'turn';
  /**
   * The return of each training interval: `returns[row][interval]`, in the shape of the trajectory. Null for a turn
   * without a reward, which is excluded from training.
   *
   * @returns null when the trajectory has no reward; it is then excluded from training.
   */
  assign(trajectory: Trajectory): readonly (readonly (number | null)[])[] | null;
}

/** Outcome of one rollout, as input of an advantage estimator. */
export interface RolloutReturn {
  /** Id of the rollout. */
  readonly rolloutId: string;
  /** Id of its group. */
  readonly groupId: string;
  /**
   * The rollout's return; null without one. A null return is not zero: it gets no advantage and is not part of any
   * mean.
   */
  readonly value: number | null;
  /** Number of training tokens of the rollout; at least 0. */
  readonly trainedTokens: number;
}

/** Result of an advantage estimator. */
export interface AdvantageEstimate {
  /** One advantage per rollout, in input order; 0 without a learning signal. */
  readonly advantages: readonly number[];
  /** Number of groups with only one return, which cannot be compared. */
  readonly singletonGroups: number;
  /** Number of groups with equal returns. */
  readonly constantGroups: number;
}

/** Computes advantages from returns. */
export interface AdvantageEstimator {
  /** Name in configurations, such as `grpo`. */
  readonly name: string;
  /** Estimates per rollout and not per row, so that a rollout with several rows counts once. */
  estimate(returns: readonly RolloutReturn[]): AdvantageEstimate;
}
