import type { CreditAssignment } from '@agentlightning/core';
import type { Trajectory } from '@agentlightning/core/algorithm';

/**
 * Only the last turn deserves the outcome: `G_K = R` for the last turn `K`, and no return for the others, which are not
 * trained on. For agents whose earlier turns are given, such as a recorded conversation.
 *
 * @example
 * ```ts
 * lastTurnCredit().assign(trajectory); // [[null, 1]] for a trajectory of one row with two turns and reward 1
 * ```
 */
export function lastTurnCredit(): CreditAssignment {
  return {
    name: 'last-turn',
    scope: 'rollout',
    assign: ({ reward, rows }: Trajectory) => {
      if (reward === null) return null;
      const last = rows.flatMap((row) => row.trained).reduce((max, turn) => Math.max(max, turn.sequenceId), -Infinity);
      return rows.map((row) => row.trained.map(({ sequenceId }) => (sequenceId === last ? reward : null)));
    },
  };
}
