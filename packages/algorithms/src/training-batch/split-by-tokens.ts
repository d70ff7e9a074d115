import type { TrainingBatch, TrainingDatum } from '@agentlightning/core/training-runtime';

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
