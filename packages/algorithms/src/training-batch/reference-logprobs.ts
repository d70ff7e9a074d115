import { ValidationError } from '@agentlightning/core';
import type { TrainingBatch } from '@agentlightning/core/training-runtime';

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
