import type { AdvantageEstimator, CreditAssignment, RolloutReturn, Trajectory } from '@agentlightning/core';

/** A trajectory and how much better than expected each of its turns was. */
export interface ScoredTrajectory {
  readonly trajectory: Trajectory;
  /** `advantages[row][interval]`, the shape of the trajectory; null for a turn that is not trained on. */
  readonly advantages: readonly (readonly (number | null)[])[];
}

/** All trajectories of a step with their advantages. */
export interface ScoredTrajectories {
  /** Those with a return, in the order they came. */
  readonly scored: readonly ScoredTrajectory[];
  /** How many were left out because they have no return. */
  readonly withoutReturn: number;
  /** Comparisons of a single return; with turn-wise credit there is a comparison for each turn. */
  readonly singletonGroups: number;
  /** Comparisons of equal returns. */
  readonly constantGroups: number;
}

/**
 * Gives every turn its advantage: credit assignment makes returns, the estimator compares them.
 *
 * With credit of scope `rollout` each rollout is compared once, whatever its number of rows and turns, and all
 * its tokens get the result. With scope `turn` the n-th turn of a rollout is compared with the n-th turns of
 * the others of its group, since turns at the same place saw the most similar states.
 */
export function scoreTrajectories(
  trajectories: readonly Trajectory[],
  credit: CreditAssignment,
  estimator: AdvantageEstimator,
): ScoredTrajectories {
  const credited = trajectories.flatMap((trajectory): readonly CreditedTrajectory[] => {
    const returns = credit.assign(trajectory);
    return returns === null ? [] : [{ trajectory, returns }];
  });
  const comparisons = credited.map(credit.scope === 'rollout' ? compareRollout : compareTurns);
  const estimate = estimator.estimate(comparisons.flat());
  let next = 0;
  const scored = credited.map(({ trajectory, returns }, index) => {
    const count = comparisons[index]?.length ?? 0;
    const own = estimate.advantages.slice(next, next + count);
    next += count;
    const rankOf = credit.scope === 'rollout' ? () => 0 : turnRanks(trajectory);
    const advantages = trajectory.rows.map((row, rowIndex) =>
      row.trained.map(({ sequenceId }, turn) =>
        (returns[rowIndex]?.[turn] ?? null) === null ? null : (own[rankOf(sequenceId)] ?? 0),
      ),
    );
    return { trajectory, advantages };
  });
  return {
    scored,
    withoutReturn: trajectories.length - credited.length,
    singletonGroups: estimate.singletonGroups,
    constantGroups: estimate.constantGroups,
  };
}

interface CreditedTrajectory {
  readonly trajectory: Trajectory;
  readonly returns: readonly (readonly (number | null)[])[];
}

/** A rollout of which nothing can be trained still tells how good the policy is: its reward counts in the mean. */
function compareRollout({ trajectory, returns }: CreditedTrajectory): readonly RolloutReturn[] {
  const { rolloutId, groupId, reward, rows } = trajectory;
  const trainedTokens = rows.reduce((sum, row) => sum + row.samplingLogprobs.length, 0);
  const value = returns.flat().find((turn) => turn !== null) ?? reward;
  return [{ rolloutId, groupId, value, trainedTokens }];
}

function compareTurns({ trajectory, returns }: CreditedTrajectory): readonly RolloutReturn[] {
  const { rolloutId, groupId, rows } = trajectory;
  const turns = new Map<number, { value: number | null; trainedTokens: number }>();
  for (const [rowIndex, row] of rows.entries()) {
    for (const [turn, { sequenceId, start, end }] of row.trained.entries()) {
      const earlier = turns.get(sequenceId)?.trainedTokens ?? 0;
      turns.set(sequenceId, { value: returns[rowIndex]?.[turn] ?? null, trainedTokens: earlier + end - start });
    }
  }
  return [...turns]
    .sort(([one], [other]) => one - other)
    .map(([, turn], rank) => ({ rolloutId, groupId: `${groupId}/turn-${rank + 1}`, ...turn }));
}

/** From a turn's sequence id to its number within the rollout, from 0. */
function turnRanks({ rows }: Trajectory): (sequenceId: number) => number {
  const ids = new Set(rows.flatMap((row) => row.trained.map(({ sequenceId }) => sequenceId)));
  const ranks = new Map([...ids].sort((one, other) => one - other).map((sequenceId, rank) => [sequenceId, rank]));
  return (sequenceId) => ranks.get(sequenceId) ?? 0;
}
