import type { CreditAssignment } from '@agentlightning/core';
import type { Trajectory } from '@agentlightning/core/algorithm';

/**
 * Every turn deserves the outcome: the reward of the rollout is the return of each of its turns. The simplest
 * assignment, and an unbiased one: what a turn had no part in is noise that averages out.
 *
 * `G_k = R` for every turn `k` (LightningRL, arXiv 2508.03680, section 3.3: identical assignment).
 *
 * @example
 * ```ts
 * terminalCredit().assign(trajectory); // [[1, 1], [1]] for a trajectory of two rows with reward 1
 * ```
 */
export function terminalCredit(): CreditAssignment {
  return {
    name: 'terminal',
    scope: 'rollout',
    assign: ({ reward, rows }: Trajectory) =>
      reward === null ? null : rows.map((row) => row.trained.map(() => reward)),
  };
}
