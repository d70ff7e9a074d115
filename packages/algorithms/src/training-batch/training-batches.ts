import { ValidationError } from '@agentlightning/core';
import type { TrajectoryRow } from '@agentlightning/core/algorithm';
import type { TrainingBatch, TrainingDatum } from '@agentlightning/core/training-runtime';
import type { ScoredTrajectory } from '../advantage/score-trajectories.ts';
import { seededRandom, shuffled } from '../base/seeded-random.ts';
import { type RowColumns, trainedTokensOf, trainingDatum } from '../rows/training-datum.ts';
import { type Aggregation, tokenWeights } from './aggregation.ts';

/** Number of passes and parts. */
export interface MinibatchOptions {
  /** Number of passes over all items. */
  readonly epochs: number;
  /** Number of parts per epoch. */
  readonly minibatches: number;
  readonly seed: number;
}

/**
 * Divides items into random parts of equal size, ±1, for each epoch. It is deterministic for a seed. A single part keeps the
 * order of the items. There are at most as many parts as items.
 */
export function minibatches<TItem>(items: readonly TItem[], options: MinibatchOptions): readonly (readonly TItem[])[] {
  const random = seededRandom(options.seed);
  const parts = Math.min(options.minibatches, items.length);
  return Array.from({ length: options.epochs }, () => {
    const order = parts === 1 ? items : shuffled(items, random);
    return Array.from({ length: parts }, (_, part) =>
      order.slice(Math.floor((part * order.length) / parts), Math.floor(((part + 1) * order.length) / parts)),
    );
  }).flat();
}

/**
 * Adds the log-probabilities of a reference policy to a batch, as required by a loss with `kl_coefficient`.
 *
 * @param batch - the batch
 * @param logprobs - one array for each datum, with an entry for each trained token
 * @throws ValidationError when an array does not have the length of the datum's trained tokens
 *
 * @example
 * ```ts
 * const withReference = withReferenceLogprobs(batch, await referenceModel.logprobs(batch));
 * ```
 */
export function withReferenceLogprobs(batch: TrainingBatch, logprobs: readonly Float32Array[]): TrainingBatch {
  return {
    data: batch.data.map((datum, index) => {
      const referenceLogprobs = logprobs[index];
      if (referenceLogprobs?.length === datum.weights.length) return { ...datum, referenceLogprobs };
      throw new ValidationError('The reference log-probabilities', [
        {
          path: `[${index}]`,
          message: `there are ${referenceLogprobs?.length ?? 0} for ${datum.weights.length} trained tokens`,
        },
      ]);
    }),
  };
}

/**
 * Splits data into batches of at most `maxTokens` tokens, prompts included. Gradients of batches are accumulated, so the
 * split does not affect the result. Sequences are sorted by length, the longest first, to reduce padding. A sequence above
 * the limit gets its own batch.
 *
 * @returns the batches; empty without data
 */
export function splitByTokens(data: readonly TrainingDatum[], maxTokens: number): readonly TrainingBatch[] {
  const batches: TrainingDatum[][] = [];
  let tokens = 0;
  // Sorting is stable, so the result is deterministic for equal lengths.
  for (const datum of data.toSorted((one, other) => other.tokenIds.length - one.tokenIds.length)) {
    const batch = batches.at(-1);
    tokens += datum.tokenIds.length;
    if (batch !== undefined && tokens <= maxTokens) {
      batch.push(datum);
    } else {
      batches.push([datum]);
      tokens = datum.tokenIds.length;
    }
  }
  return batches.map((batch) => ({ data: batch }));
}

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
