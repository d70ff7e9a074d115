import type { Trajectory } from '@agentlightning/core/algorithm';
import { z } from 'zod';

/** How long a rollout's answers may be before the reward falls. */
export interface OverlongPenalty {
  /** From here on the penalty is whole, in sampled tokens of the rollout. */
  readonly maxTokens: number;
  /** How many tokens before that it begins, at most `maxTokens`. */
  readonly bufferTokens: number;
  /** The whole penalty. @default 1 */
  readonly coefficient?: number;
}

/** The shape of {@link OverlongPenalty}. */
export const overlongPenaltySchema: z.ZodType<OverlongPenalty> = z
  .strictObject({
    maxTokens: z.int().min(1),
    bufferTokens: z.int().min(1),
    coefficient: z.number().min(0).exactOptional(),
  })
  .refine(({ maxTokens, bufferTokens }) => bufferTokens <= maxTokens, {
    path: ['bufferTokens'],
    message: 'must be at most maxTokens',
  });

/**
 * What a rollout loses for saying too much: a penalty that rises from 0 to `coefficient` over the last `bufferTokens` before
 * `maxTokens`. So a long answer learns to be shorter before it is cut off, where a sudden punishment would tell it nothing of how.
 *
 * Soft overlong punishment: DAPO, arXiv 2503.14476, equation 13.
 */
export function overlongPenaltyOf({ rows }: Trajectory, penalty: OverlongPenalty): number {
  const { maxTokens, bufferTokens, coefficient = 1 } = penalty;
  const sampled = rows.reduce((sum, { samplingLogprobs }) => sum + samplingLogprobs.length, 0);
  return coefficient * Math.min(1, Math.max(0, (sampled - (maxTokens - bufferTokens)) / bufferTokens));
}
