import type { Trajectory, TrajectoryRow } from '@agentlightning/core/algorithm';
import type { TrainingDatum } from '@agentlightning/core/training-runtime';

/** Input of {@link trainingDatum}. */
export interface DatumInput {
  readonly trajectory: Trajectory;
  readonly row: TrajectoryRow;
  /** One for each trained interval; null for a turn that is not trained on. */
  readonly advantages: readonly (number | null)[];
  /** The weight of each of its trained tokens. */
  readonly weight: number;
  /** Replaces unknown versions. */
  readonly currentPolicyVersion: number;
  /** Additional columns of the row. @default none */
  readonly columns?: RowColumns;
}

/** Optional columns of a row: arrays of the length of its `samplingLogprobs`. */
export interface RowColumns {
  /** Log-probabilities for the denominator of the probability ratio; they replace those of the sampler. */
  readonly oldLogprobs?: Float32Array;
  /** Factors of the token weights. */
  readonly weightFactors?: Float32Array;
  /** Advantages by token; they replace those of the turns. A turn without an advantage is not trained on. */
  readonly advantages?: Float32Array;
  /** Targets of the value head. */
  readonly valueTargets?: Float32Array;
  /** Predictions of the value head. */
  readonly samplingValues?: Float32Array;
}

/** Merges columns of the same row: factors are multiplied, other columns of the second replace those of the first. */
export function mergedColumns(one: RowColumns, other: RowColumns): RowColumns {
  const merged = { ...one, ...other };
  if (one.weightFactors === undefined || other.weightFactors === undefined) return merged;
  const factors = other.weightFactors;
  return { ...merged, weightFactors: one.weightFactors.map((factor, token) => factor * (factors[token] ?? 0)) };
}

/** Number of trained tokens of a row; turns without an advantage are not trained on. */
export function trainedTokensOf(row: TrajectoryRow, advantages: readonly (number | null)[]): number {
  return row.trained.reduce(
    (sum, { start, end }, turn) => sum + ((advantages[turn] ?? null) === null ? 0 : end - start),
    0,
  );
}

/** Whether each sampled token of a row is trained. */
export function trainedTokens(row: TrajectoryRow, advantages: readonly (number | null)[]): readonly boolean[] {
  return row.trained.flatMap(({ start, end }, turn) =>
    Array.from({ length: end - start }, () => (advantages[turn] ?? null) !== null),
  );
}

/** A row in the form of the runtime contract; null when none of its turns is trained on. */
export function trainingDatum(input: DatumInput): TrainingDatum | null {
  const { trajectory, row, weight, currentPolicyVersion, columns = {} } = input;
  const turns = trainedTurns(row, input.advantages);
  if (turns.length === 0) return null;
  const trainedTokens = turns.reduce((sum, { start, end }) => sum + end - start, 0);
  const versions = policyVersionRange(turns, currentPolicyVersion);
  const { oldLogprobs, weightFactors, valueTargets, samplingValues } = columns;
  return {
    tokenIds: Int32Array.from(row.tokenIds),
    trained: turns.map(({ start, end }) => ({ start, end })),
    samplingLogprobs: ofTurns(turns, trainedTokens, oldLogprobs ?? row.samplingLogprobs),
    advantages:
      columns.advantages === undefined
        ? byTurn(turns, trainedTokens)
        : ofTurns(turns, trainedTokens, columns.advantages),
    weights:
      weightFactors === undefined
        ? new Float32Array(trainedTokens).fill(weight)
        : ofTurns(turns, trainedTokens, weightFactors).map((factor) => factor * weight),
    ...(valueTargets && { valueTargets: ofTurns(turns, trainedTokens, valueTargets) }),
    ...(samplingValues && { samplingValues: ofTurns(turns, trainedTokens, samplingValues) }),
    ...(row.images && { images: row.images.map(({ url }) => url) }),
    temperature: row.temperature,
    rolloutId: trajectory.rolloutId,
    groupId: trajectory.groupId,
    minPolicyVersion: versions.min,
    maxPolicyVersion: versions.max,
  };
}

/** The lowest and the highest policy version of the tokens of turns. */
function policyVersionRange(
  turns: readonly TrainedTurn[],
  currentPolicyVersion: number,
): { readonly min: number; readonly max: number } {
  let min = Infinity;
  let max = -Infinity;
  for (const { policyVersion, policyVersions = [policyVersion ?? currentPolicyVersion] } of turns) {
    for (const version of policyVersions) {
      min = Math.min(min, version);
      max = Math.max(max, version);
    }
  }
  return { min, max };
}

/** The advantage of each turn, for all of its tokens. */
function byTurn(turns: readonly TrainedTurn[], trainedTokens: number): Float32Array {
  const entries = new Float32Array(trainedTokens);
  let next = 0;
  for (const { start, end, advantage } of turns) {
    entries.fill(advantage, next, next + end - start);
    next += end - start;
  }
  return entries;
}

/** The entries of a column that belong to these turns. */
function ofTurns(turns: readonly TrainedTurn[], trainedTokens: number, column: ArrayLike<number>): Float32Array {
  const entries = new Float32Array(trainedTokens);
  let next = 0;
  for (const { start, end, logprobOffset } of turns)
    for (let token = 0; token < end - start; token += 1, next += 1) entries[next] = column[logprobOffset + token] ?? 0;
  return entries;
}

interface TrainedTurn {
  readonly start: number;
  readonly end: number;
  /** Index of its first log-probability among those of the row. */
  readonly logprobOffset: number;
  readonly advantage: number;
  readonly policyVersion: number | null;
  readonly policyVersions?: readonly number[];
}

function trainedTurns(row: TrajectoryRow, advantages: readonly (number | null)[]): readonly TrainedTurn[] {
  let logprobOffset = 0;
  return row.trained.flatMap(({ start, end, policyVersion, policyVersions }, turn) => {
    const offset = logprobOffset;
    logprobOffset += end - start;
    const advantage = advantages[turn] ?? null;
    if (advantage === null) return [];
    const versions = policyVersions && { policyVersions };
    return [{ start, end, logprobOffset: offset, advantage, policyVersion, ...versions }];
  });
}
