import type {
  AdvantageEstimator,
  CreditAssignment,
  RolloutReturn,
  TrainedInterval,
  Trajectory,
} from '@agentlightning/core/algorithm';
import { trainedTokensOf } from '../rows/training-datum.ts';

/** A trajectory with the advantage of each turn. */
export interface ScoredTrajectory {
  /** The trajectory whose steps are scored. */
  readonly trajectory: Trajectory;
  /** `advantages[row][interval]`, the shape of the trajectory; null for a turn that is not trained on. */
  readonly advantages: readonly (readonly (number | null)[])[];
}

/** A trajectory with advantage 1 at every turn, for methods without a comparison. */
export function scoredAlike(trajectory: Trajectory): ScoredTrajectory {
  return { trajectory, advantages: trajectory.rows.map((row) => row.trained.map(() => 1)) };
}

/** All trajectories of a step with their advantages. */
export interface ScoredTrajectories {
  /** The trajectories with a return, in input order. */
  readonly scored: readonly ScoredTrajectory[];
  /** Number of trajectories without a return, which are excluded. */
  readonly withoutReturn: number;
  /** Number of comparisons with a single return; with credit by turn there is one comparison per turn. */
  readonly singletonGroups: number;
  /** Number of comparisons with equal returns. */
  readonly constantGroups: number;
}

/**
 * Computes the advantage of every turn: credit assignment computes returns, the estimator compares them.
 *
 * With credit of scope `rollout`, each rollout is compared once, regardless of its number of rows and turns, and all its
 * tokens get the same advantage. With scope `agent`, each agent is compared with the same agent in the group's other
 * rollouts. With scope `turn`, the n-th turn of an agent is compared with its n-th turns in the other rollouts, because
 * turns at the same position have the most similar states.
 */
export function scoreTrajectories(
  trajectories: readonly Trajectory[],
  credit: CreditAssignment,
  estimator: AdvantageEstimator,
): ScoredTrajectories {
  const credited = trajectories.flatMap((trajectory): readonly CreditedTrajectory[] => {
    const returns = credit.assign(trajectory);
    return returns === null ? [] : [{ trajectory, returns, comparisonKeyOf: comparisonKeys(trajectory, credit.scope) }];
  });
  const comparisons = credited.map(credit.scope === 'rollout' ? compareRollout : compareParts);
  const estimate = estimator.estimate(comparisons.flatMap((parts) => [...parts.values()]));
  let next = 0;
  const scored = credited.map(({ trajectory, returns, comparisonKeyOf }, index) => {
    const keys = [...(comparisons[index]?.keys() ?? [])];
    const advantageByKey = new Map(keys.map((key, rank) => [key, estimate.advantages[next + rank] ?? 0]));
    next += keys.length;
    const advantages = trajectory.rows.map((row, rowIndex) =>
      row.trained.map((turn, turnIndex) =>
        (returns[rowIndex]?.[turnIndex] ?? null) === null ? null : (advantageByKey.get(comparisonKeyOf(turn)) ?? 0),
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
  /** Turns with equal keys are compared with each other. */
  readonly comparisonKeyOf: (turn: TrainedInterval) => string;
}

/** The returns that are compared, by comparison key. */
type Comparisons = ReadonlyMap<string, RolloutReturn>;

/** The reward of a rollout without trainable tokens counts in the mean: it still measures the policy. */
function compareRollout({ trajectory, returns }: CreditedTrajectory): Comparisons {
  const { rolloutId, groupId, reward, rows } = trajectory;
  const trainedTokens = rows.reduce((sum, row, index) => sum + trainedTokensOf(row, returns[index] ?? []), 0);
  const value = returns.flat().find((turn) => turn !== null) ?? reward;
  return new Map([[wholeRollout, { rolloutId, groupId, value, trainedTokens }]]);
}

function compareParts({ trajectory, returns, comparisonKeyOf }: CreditedTrajectory): Comparisons {
  const { rolloutId, groupId, rows } = trajectory;
  const turns = rows.flatMap((row, rowIndex) =>
    row.trained.map((turn, index) => ({ turn, value: returns[rowIndex]?.[index] ?? null })),
  );
  const parts = new Map<string, RolloutReturn>();
  for (const { turn, value } of turns.toSorted((one, other) => one.turn.sequenceId - other.turn.sequenceId)) {
    const key = comparisonKeyOf(turn);
    const earlier = parts.get(key);
    const trainedTokens = (earlier?.trainedTokens ?? 0) + turn.end - turn.start;
    parts.set(key, { rolloutId, groupId: `${groupId}/${key}`, value: earlier?.value ?? value, trainedTokens });
  }
  return parts;
}

const wholeRollout = 'rollout';

function comparisonKeys({ rows }: Trajectory, scope: CreditAssignment['scope']): CreditedTrajectory['comparisonKeyOf'] {
  if (scope === 'rollout') return () => wholeRollout;
  if (scope === 'agent') return ({ agentName }) => `agent-${agentName ?? ''}`;
  const callsByAgent = new Map<string | null, Set<number>>();
  for (const { agentName, sequenceId } of rows.flatMap((row) => row.trained)) {
    callsByAgent.set(agentName, (callsByAgent.get(agentName) ?? new Set()).add(sequenceId));
  }
  const ranks = new Map(
    [...callsByAgent.values()].flatMap((calls) =>
      [...calls].sort((one, other) => one - other).map((sequenceId, rank) => [sequenceId, rank + 1] as const),
    ),
  );
  return ({ agentName, sequenceId }) =>
    `${agentName === null ? '' : `agent-${agentName}/`}turn-${ranks.get(sequenceId) ?? 0}`;
}
