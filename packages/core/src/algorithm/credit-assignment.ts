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
