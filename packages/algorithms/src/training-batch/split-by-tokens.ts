import type { TrainingBatch, TrainingDatum } from '@agentlightning/core/training-runtime';

/**
 * Splits data into batches of at most so many tokens, prompts included. Gradients of batches add up, so the split
 * changes no result. Sequences of similar length come together, the longest first, because runtimes pad to the
 * longest of a batch. A single sequence above the limit gets a separate batch.
 *
 * @returns no batch for no data
 */
export function splitByTokens(data: readonly TrainingDatum[], maxTokens: number): readonly TrainingBatch[] {
  const batches: TrainingDatum[][] = [];
  let tokens = 0;
  // Sorting is stable, so equal lengths keep their order and the outcome is always the same.
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
