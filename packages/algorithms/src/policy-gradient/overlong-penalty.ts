import type { Trajectory } from '@agentlightning/core/algorithm';
import { z } from 'zod';

/** Penalty for long rollouts. */
export interface OverlongPenalty {
  /** Length from which the full penalty applies, in sampled tokens of the rollout. */
  readonly maxTokens: number;
  /** Length of the linear ramp before `maxTokens`, in tokens; at most `maxTokens`. */
  readonly bufferTokens: number;
  /** The full penalty. @default 1 */
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
 * Length penalty of a rollout, which rises linearly from 0 to `coefficient` over the last `bufferTokens` before `maxTokens`.
 * The ramp gives long responses a gradient towards shorter ones before they are cut off.
 *
 * Soft overlong punishment: DAPO, arXiv 2503.14476, equation 13.
 */
export function overlongPenaltyOf({ rows }: Trajectory, penalty: OverlongPenalty): number {
  const { maxTokens, bufferTokens, coefficient = 1 } = penalty;
  const sampled = rows.reduce((sum, { samplingLogprobs }) => sum + samplingLogprobs.length, 0);
  return coefficient * Math.min(1, Math.max(0, (sampled - (maxTokens - bufferTokens)) / bufferTokens));
}
