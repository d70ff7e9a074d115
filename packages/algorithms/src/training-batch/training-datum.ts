import type { TrainingDatum, Trajectory, TrajectoryRow } from '@agentlightning/core';

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
}

/** How many tokens of a row are trained, given that turns without an advantage are not. */
export function trainedTokensOf(row: TrajectoryRow, advantages: readonly (number | null)[]): number {
  return row.trained.reduce(
    (sum, { start, end }, turn) => sum + ((advantages[turn] ?? null) === null ? 0 : end - start),
    0,
  );
}

/** A row in the form the runtime takes; null when none of its turns is trained on. */
export function trainingDatum(input: DatumInput): TrainingDatum | null {
  const { trajectory, row, weight, currentPolicyVersion } = input;
  const turns = trainedTurns(row, input.advantages);
  if (turns.length === 0) return null;
  const trainedTokens = turns.reduce((sum, { start, end }) => sum + end - start, 0);
  const samplingLogprobs = new Float32Array(trainedTokens);
  const advantages = new Float32Array(trainedTokens);
  let next = 0;
  for (const { start, end, logprobOffset, advantage } of turns) {
    const count = end - start;
    samplingLogprobs.set(row.samplingLogprobs.slice(logprobOffset, logprobOffset + count), next);
    advantages.fill(advantage, next, next + count);
    next += count;
  }
  const versions = turns.map(({ policyVersion }) => policyVersion ?? currentPolicyVersion);
  return {
    tokenIds: Int32Array.from(row.tokenIds),
    trained: turns.map(({ start, end }) => ({ start, end })),
    samplingLogprobs,
    advantages,
    weights: new Float32Array(trainedTokens).fill(weight),
    temperature: row.temperature,
    rolloutId: trajectory.rolloutId,
    groupId: trajectory.groupId,
    minPolicyVersion: Math.min(...versions),
    maxPolicyVersion: Math.max(...versions),
  };
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
