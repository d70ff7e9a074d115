import type { CreditAssignment } from '@agentlightning/core/algorithm';

/**
 * Credit for a game of opponents: the return of a turn is its own reward plus the discounted return of the same player's next
 * turn, `G_k = r_k + γ·G_k'`. Other players' turns in between, of either team, do not count. Every player's n-th turn is
 * compared with the n-th turn of the same player in the other games of the group.
 */
export function playerCredit(discount: number): CreditAssignment {
  return {
    name: 'player',
    scope: 'turn',
    assign: ({ rows }) => {
      const turns = rows.flatMap((row) => row.trained).sort((one, other) => other.sequenceId - one.sequenceId);
      const later = new Map<string | null, number>();
      const returns = new Map<number, number>();
      for (const { sequenceId, agentName, reward } of turns) {
        const value = (reward ?? 0) + discount * (later.get(agentName) ?? 0);
        later.set(agentName, value);
        returns.set(sequenceId, value);
      }
      return rows.map((row) => row.trained.map(({ sequenceId }) => returns.get(sequenceId) ?? null));
    },
  };
}
