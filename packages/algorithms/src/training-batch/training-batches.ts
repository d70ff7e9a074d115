import type { TrajectoryRow } from '@agentlightning/core/algorithm';
import type { TrainingBatch, TrainingDatum } from '@agentlightning/core/training-runtime';
import type { ScoredTrajectory } from '../advantage/score-trajectories.ts';
import { type RowColumns, trainedTokensOf, trainingDatum } from '../rows/training-datum.ts';
import { type Aggregation, tokenWeights } from './aggregation.ts';
import { splitByTokens } from './split-by-tokens.ts';

/** Options of {@link trainingBatches}. */
export interface TrainingBatchOptions {
  /** How the losses of tokens become one. */
  readonly aggregation: Aggregation;
  /**
   * Whether batches include rows whose advantages are all 0. Such rows have no policy gradient and are needed only for
   * losses with a term that does not vanish at advantage 0: an entropy, KL or value term, or the squared term of `dro`. They
   * count in the weights either way.
   */
  readonly keepZeroAdvantages: boolean;
  /** Version of the policy in training; replaces unknown versions. */
  readonly currentPolicyVersion: number;
  /** Maximum number of tokens per batch, prompts included. @default no limit */
  readonly maxBatchTokens?: number;
  /** Additional columns of a row. @default none */
  readonly columnsOf?: (row: TrajectoryRow) => RowColumns;
}

/**
 * Creates the batches of one update. The weights are normalised over all batches together; the runtime sums weight times
 * token loss.
 *
 * @param scored - the trajectories of the update, in any order
 * @returns the batches; empty when no token is trained
 *
 * @example
 * ```ts
 * const batches = trainingBatches(scored, {
 *   aggregation: 'token-mean', keepZeroAdvantages: false, currentPolicyVersion: 3, maxBatchTokens: 65_536,
 * });
 * ```
 */
export function trainingBatches(
  scored: readonly ScoredTrajectory[],
  options: TrainingBatchOptions,
): readonly TrainingBatch[] {
  const weights = tokenWeights(scored.map(trainedTokensOfRows), options.aggregation);
  const data = scored.flatMap(({ trajectory, advantages }, index) =>
    trajectory.rows.flatMap((row, rowIndex): readonly TrainingDatum[] => {
      const datum = trainingDatum({
        trajectory,
        row,
        advantages: advantages[rowIndex] ?? [],
        weight: weights[index]?.[rowIndex] ?? 0,
        currentPolicyVersion: options.currentPolicyVersion,
        columns: options.columnsOf?.(row) ?? {},
      });
      const isNeeded = datum !== null && (options.keepZeroAdvantages || datum.advantages.some((value) => value !== 0));
      return isNeeded ? [datum] : [];
    }),
  );
  return splitByTokens(data, options.maxBatchTokens ?? Infinity);
}

/** Number of trained tokens of a trajectory. */
export function trainedTokensOfTrajectory(scored: ScoredTrajectory): number {
  return trainedTokensOfRows(scored).reduce((sum, tokens) => sum + tokens, 0);
}

function trainedTokensOfRows({ trajectory, advantages }: ScoredTrajectory): readonly number[] {
  return trajectory.rows.map((row, index) => trainedTokensOf(row, advantages[index] ?? []));
}
