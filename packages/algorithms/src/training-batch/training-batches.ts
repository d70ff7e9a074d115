import type { TrajectoryRow } from '@agentlightning/core/algorithm';
import type { TrainingBatch, TrainingDatum } from '@agentlightning/core/training-runtime';
import type { ScoredTrajectory } from '../advantage/score-trajectories.ts';
import { type Aggregation, tokenWeights } from './aggregation.ts';
import { splitByTokens } from './split-by-tokens.ts';
import { type RowColumns, trainedTokensOf, trainingDatum } from './training-datum.ts';

/** How scored trajectories become batches. */
export interface TrainingBatchOptions {
  readonly aggregation: Aggregation;
  /**
   * Whether rows whose advantages are all 0 are sent. They have no policy gradient, so dropping them saves work and
   * changes nothing, unless the loss has a term that does not vanish at advantage 0: an entropy, KL or value term, or
   * the square of `dro`. They count in the weights either way.
   */
  readonly keepZeroAdvantages: boolean;
  /** The policy that is trained; stands in for versions that are not known. */
  readonly currentPolicyVersion: number;
  /** Most tokens of one batch, prompts included. @default no limit */
  readonly maxBatchTokens?: number;
  /** More about the sampled tokens of a row. @default nothing */
  readonly columnsOf?: (row: TrajectoryRow) => RowColumns;
}

/**
 * Makes the batches of one update. The weights carry the whole normalisation over all batches together; the
 * runtime sums weight times token loss.
 *
 * @param scored - the trajectories of the update, in any order
 * @returns no batch when there is nothing to learn
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

/** How many tokens of a trajectory are trained, over all its rows. */
export function trainedTokensOfTrajectory(scored: ScoredTrajectory): number {
  return trainedTokensOfRows(scored).reduce((sum, tokens) => sum + tokens, 0);
}

function trainedTokensOfRows({ trajectory, advantages }: ScoredTrajectory): readonly number[] {
  return trajectory.rows.map((row, index) => trainedTokensOf(row, advantages[index] ?? []));
}
