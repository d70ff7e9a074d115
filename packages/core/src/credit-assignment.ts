import type { Trajectory } from './trajectory.ts';

/**
 * Decides how much of a rollout's outcome each turn deserves: the first level of hierarchical
 * credit assignment (LightningRL, arXiv 2508.03680, section 3.3).
 */
export interface CreditAssignment {
  /** Its name in configurations, such as `terminal`. */
  readonly name: string;
  /**
   * What is compared with what. `rollout`: every turn of a rollout that has a return has the same one, so rollouts are
   * compared as wholes. `agent`: so has every turn of an agent, and agents are compared with themselves in the group's other
   * rollouts. `turn`: turns differ, so an agent's n-th turn is compared with its n-th turns in the group's other rollouts.
   */
  readonly scope: 'rollout' | 'agent' | 'turn';
  /**
   * The return of each trained interval: `returns[row][interval]`, the shape of the trajectory. Null for a turn
   * that no reward speaks of: it is not trained on.
   *
   * @returns null when the trajectory has no reward to assign; it is then left out of training.
   */
  assign(trajectory: Trajectory): readonly (readonly (number | null)[])[] | null;
}
