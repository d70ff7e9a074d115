import type { CreditAssignment } from '@agentlightning/core';
import type { Trajectory } from '@agentlightning/core/algorithm';

/**
 * Credits every turn with the reward of the rollout. The simplest assignment; it is unbiased, with more variance for turns
 * that did not affect the outcome.
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
