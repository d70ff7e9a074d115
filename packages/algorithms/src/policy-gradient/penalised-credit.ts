import type { CreditAssignment, Trajectory } from '@agentlightning/core/algorithm';
import { type PlacedTurn, placedTurns } from '../advantage/placed-turns.ts';

/** Penalties subtracted from the returns of a rollout. */
export interface ReturnPenalties {
  /** Penalty of the rollout as a whole. */
  readonly ofRollout: (trajectory: Trajectory) => number;
  /** Penalty of the tokens of one turn; penalties of turns that are compared together are summed. */
  readonly ofTurn: (turn: PlacedTurn) => number;
}

/**
 * A credit assignment that subtracts penalties from the returns of another.
 *
 * With credit by agent, the penalty of a turn applies to the agent of the turn only, also for agents with their own rewards.
 * The penalty of the rollout applies to every agent in full.
 *
 * Penalties are not subtracted from the reward before credit is assigned: an agent with its own rewards would not pay them, one
 * with a share in the team's reward only a part, and a custom credit assignment could drop or scale them. Each agent maximises
 * its reward minus its own divergence from the reference.
 *
 * @param credit - of scope `rollout` or `agent`: returns by turn do not include later turns
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
