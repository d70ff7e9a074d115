import type { TrainingBatch, TrainingDatum } from '@agentlightning/core/training-runtime';

/** Overrides of a test datum. */
export type DatumOverrides = Partial<TrainingDatum>;

/** Ids in every vocabulary of at least 16 ids. */
const tokenRange = 16;

/** A valid sequence of ten tokens, six of them trained in two intervals. Other `seed`, other tokens. */
export function aDatum(seed: number, overrides: DatumOverrides = {}): TrainingDatum {
  const tokenIds = Int32Array.from({ length: 10 }, (_, at) => (seed * 7 + at * (seed + 3)) % tokenRange);
  const trained = overrides.trained ?? [
    { start: 2, end: 5 },
    { start: 6, end: 9 },
  ];
  const count = trained.reduce((sum, { start, end }) => sum + end - start, 0);
  return {
    tokenIds,
    trained,
    samplingLogprobs: new Float32Array(count).fill(-2.5),
    advantages: Float32Array.from({ length: count }, (_, at) => ((seed + at) % 3) - 1),
    weights: new Float32Array(count).fill(1 / count),
    temperature: 1,
    rolloutId: `ro-${seed}`,
    groupId: `group-${seed}`,
    minPolicyVersion: 0,
    maxPolicyVersion: 0,
    ...overrides,
  };
}

/** A valid batch of some sequences. */
export function aBatch(seeds: readonly number[], overrides: DatumOverrides = {}): TrainingBatch {
  return { data: seeds.map((seed) => aDatum(seed, overrides)) };
}

/** The default batch of the suite; always the same shape, so that engines compile once. */
export const batchOfFour: TrainingBatch = aBatch([1, 2, 3, 4]);
