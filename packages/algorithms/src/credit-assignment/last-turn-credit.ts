import type { CreditAssignment } from '@agentlightning/core';
import type { Trajectory } from '@agentlightning/core/algorithm';

/**
 * Credits only the last turn: `G_K = R` for the last turn `K`. The other turns have no return and are not trained on. For
 * agents with given earlier turns, such as a recorded conversation.
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
