import type { Trajectory } from '@agentlightning/core';
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
 * The reward with a penalty that rises from 0 to `coefficient` over the last `bufferTokens` before `maxTokens`: a long
 * answer learns to be shorter before it is cut off, where a sudden punishment would tell it nothing of how.
 *
 * Soft overlong punishment: DAPO, arXiv 2503.14476, equation 13.
 */
export function withOverlongPenalty(trajectory: Trajectory, penalty: OverlongPenalty): Trajectory {
  if (trajectory.reward === null) return trajectory;
  const { maxTokens, bufferTokens, coefficient = 1 } = penalty;
  const sampled = trajectory.rows.reduce((sum, { samplingLogprobs }) => sum + samplingLogprobs.length, 0);
  const excess = Math.min(1, Math.max(0, (sampled - (maxTokens - bufferTokens)) / bufferTokens));
  return { ...trajectory, reward: trajectory.reward - coefficient * excess };
}
