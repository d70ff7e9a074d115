import type { Trajectory, TrajectoryRow } from '@agentlightning/core/algorithm';
import type { TrainingDatum } from '@agentlightning/core/training-runtime';

/** What one row needs to become a datum. */
export interface DatumInput {
  readonly trajectory: Trajectory;
  readonly row: TrajectoryRow;
  /** One for each trained interval; null for a turn that is not trained on. */
  readonly advantages: readonly (number | null)[];
  /** The weight of each of its trained tokens. */
  readonly weight: number;
  /** Stands in for versions that are not known. */
  readonly currentPolicyVersion: number;
  /** More about each sampled token of the row. @default nothing */
  readonly columns?: RowColumns;
}

/** What may be known of a row's sampled tokens besides: arrays as long as its `samplingLogprobs`. */
export interface RowColumns {
  /** Take the place of the sampler's, as what the probability ratio is relative to. */
  readonly oldLogprobs?: Float32Array;
  /** The weight of each token is multiplied by it. */
  readonly weightFactors?: Float32Array;
  /** Take the place of the turns' advantages; a turn without one is not trained on all the same. */
  readonly advantages?: Float32Array;
  /** The returns that the value head is to learn. */
  readonly valueTargets?: Float32Array;
  /** What the value head said. */
  readonly samplingValues?: Float32Array;
}

/** Columns of the same row together: factors are multiplied, of the others the second takes the place of the first. */
export function mergedColumns(one: RowColumns, other: RowColumns): RowColumns {
  const merged = { ...one, ...other };
  if (one.weightFactors === undefined || other.weightFactors === undefined) return merged;
  const factors = other.weightFactors;
  return { ...merged, weightFactors: one.weightFactors.map((factor, token) => factor * (factors[token] ?? 0)) };
}

/** How many tokens of a row are trained, given that turns without an advantage are not. */
export function trainedTokensOf(row: TrajectoryRow, advantages: readonly (number | null)[]): number {
  return row.trained.reduce(
    (sum, { start, end }, turn) => sum + ((advantages[turn] ?? null) === null ? 0 : end - start),
    0,
  );
}

/** For each sampled token of a row, whether its turn is trained on. */
export function trainedTokens(row: TrajectoryRow, advantages: readonly (number | null)[]): readonly boolean[] {
  return row.trained.flatMap(({ start, end }, turn) =>
    Array.from({ length: end - start }, () => (advantages[turn] ?? null) !== null),
  );
}

/** A row in the form the runtime takes; null when none of its turns is trained on. */
export function trainingDatum(input: DatumInput): TrainingDatum | null {
  const { trajectory, row, weight, currentPolicyVersion, columns = {} } = input;
  const turns = trainedTurns(row, input.advantages);
  if (turns.length === 0) return null;
  const trainedTokens = turns.reduce((sum, { start, end }) => sum + end - start, 0);
  const versions = turns.map(({ policyVersion }) => policyVersion ?? currentPolicyVersion);
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
    temperature: row.temperature,
    rolloutId: trajectory.rolloutId,
    groupId: trajectory.groupId,
    minPolicyVersion: Math.min(...versions),
    maxPolicyVersion: Math.max(...versions),
  };
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

/** The entries of a row's column that are of these turns. */
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
  /** Where its log-probabilities begin among those of the row. */
  readonly logprobOffset: number;
  readonly advantage: number;
  readonly policyVersion: number | null;
}

function trainedTurns(row: TrajectoryRow, advantages: readonly (number | null)[]): readonly TrainedTurn[] {
  let logprobOffset = 0;
  return row.trained.flatMap(({ start, end, policyVersion }, turn) => {
    const offset = logprobOffset;
    logprobOffset += end - start;
    const advantage = advantages[turn] ?? null;
    return advantage === null ? [] : [{ start, end, logprobOffset: offset, advantage, policyVersion }];
  });
}
