import type { TrainingBatch, TrainingDatum } from '@agentlightning/core/training-runtime';

/**
 * Offsets of the sampling log-probabilities from the model's: below, inside and above every clip, never at its edge.
 */
const logRatios = [-0.61, -0.13, 0.02, 0.11, 0.43, 0.94, -0.31];

/** Byte sequences of different lengths, some with two trained intervals, at two temperatures. */
export function plainBatch(): TrainingBatch {
  const lengths = [7, 40, 12, 25, 61];
  return { data: lengths.map((length, seed) => plainDatum(length, seed)) };
}

/** The same sequences with values that cover every branch of the losses, given the model's log-probabilities. */
export function weighedBatch(batch: TrainingBatch, logprobs: readonly Float32Array[]): TrainingBatch {
  return {
    data: batch.data.map((datum, seed) => {
      const own = logprobs[seed] ?? new Float32Array();
      const column = (value: (at: number) => number): Float32Array => own.map((_, at) => value(at + seed));
      return {
        ...datum,
        samplingLogprobs: own.map((logprob, at) => Math.min(logprob - (logRatios[(at + seed) % 7] ?? 0), 0)),
        referenceLogprobs: own.map((logprob, at) => Math.min(logprob + 0.3 * (((at + seed) % 5) - 2), 0)),
        advantages: column((at) => [1, -1, 0.5, -2, 1.5][at % 5] ?? 0),
        weights: column((at) => [0.5, 1, 0.25, 0, 2][at % 5] ?? 0),
        valueTargets: column((at) => Math.sin(at)),
        samplingValues: column((at) => Math.cos(at) / 2),
      };
    }),
  };
}

function plainDatum(length: number, seed: number): TrainingDatum {
  const trained =
    length > 20
      ? [
          { start: 3, end: 9 },
          { start: length - 7, end: length - 1 },
        ]
      : [{ start: 2, end: length }];
  const count = trained.reduce((sum, { start, end }) => sum + end - start, 0);
  return {
    // Readable bytes have likely tokens.
    tokenIds: Int32Array.from({ length }, (_, at) => 32 + ((at * 37 + seed * 53) % 90)),
    trained,
    samplingLogprobs: new Float32Array(count).fill(-3),
    advantages: new Float32Array(count),
    weights: new Float32Array(count).fill(1),
    temperature: seed % 2 === 0 ? 1 : 0.7,
    rolloutId: `ro-${seed}`,
    groupId: 'gr',
    minPolicyVersion: 0,
    maxPolicyVersion: 0,
  };
}
