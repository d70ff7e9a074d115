import type { CreditAssignment } from '@agentlightning/core';
import type { Trajectory } from '@agentlightning/core/algorithm';
import { type PlacedTurn, placedTurns } from '../advantage/placed-turns.ts';

/** What is taken from the returns of a rollout. */
export interface ReturnPenalties {
  /** For what the rollout did as a whole. */
  readonly ofRollout: (trajectory: Trajectory) => number;
  /** For the tokens of one turn; those of turns that are compared together add up. */
  readonly ofTurn: (turn: PlacedTurn) => number;
}

/**
 * A credit assignment whose returns have penalties taken off, whatever they were made of.
 *
 * A penalty for tokens is a sum over them, so it belongs to those who chose them: with credit by agent each agent pays for its own
 * tokens, also one with its own rewards, and no share in the team's reward makes it pay for another's. What the rollout
 * did as a whole is not the work of one agent: every agent has all of it, as any less would be the gradient of something else.
 *
 * @param credit - of scope `rollout` or `agent`: returns of single turns say nothing of what follows them
 */
export function penalisedCredit(credit: CreditAssignment, penalties: ReturnPenalties): CreditAssignment {
  return {
    name: credit.name,
    scope: credit.scope,
    assign: (trajectory) => {
      const returns = credit.assign(trajectory);
      return returns === null ? null : penalisedReturns(trajectory, returns, { scope: credit.scope, ...penalties });
    },
  };
}

function penalisedReturns(
  trajectory: Trajectory,
  returns: readonly (readonly (number | null)[])[],
  { scope, ofRollout, ofTurn }: ReturnPenalties & Pick<CreditAssignment, 'scope'>,
): readonly (readonly (number | null)[])[] {
  const ofTokens = new Map<string | null, number>();
  const payerOf = (agentName: string | null): string | null => (scope === 'agent' ? agentName : null);
  for (const [rowIndex, row] of trajectory.rows.entries()) {
    const placed = placedTurns(row);
    for (const [index, { agentName }] of row.trained.entries()) {
      const turn = placed[index];
      if (turn === undefined || (returns[rowIndex]?.[index] ?? null) === null) continue;
      const payer = payerOf(agentName);
      ofTokens.set(payer, (ofTokens.get(payer) ?? 0) + ofTurn(turn));
    }
  }
  const shared = ofRollout(trajectory);
  return trajectory.rows.map((row, rowIndex) =>
    row.trained.map(({ agentName }, index) => {
      const value = returns[rowIndex]?.[index] ?? null;
      return value === null ? null : value - shared - (ofTokens.get(payerOf(agentName)) ?? 0);
    }),
  );
}
