import { z } from 'zod';
import { type SamplingConfig, samplingSchema } from './sampling-config.ts';

/** Settings of evaluations. */
export interface EvaluationConfig {
  /** Number of steps between evaluations during training, in addition to those before and after; 0 for none. @default 0 */
  readonly every?: number;
  /** Maximum number of held-out tasks. @default 128 */
  readonly tasks?: number;
  /** Number of rollouts per task. @default 1 */
  readonly rolloutsPerTask?: number;
  /** @default the training sampling */
  readonly sampling?: SamplingConfig;
  /** Maximum share of held-out rollouts without a reward, from 0 to 1; above it, the run gives no verdict. @default 0.05 */
  readonly maxMissingShare?: number;
}

/** The settings of evaluations with their defaults. */
export interface ResolvedEvaluation extends Required<Omit<EvaluationConfig, 'sampling'>> {
  /** That of the training, where it is not configured. */
  readonly sampling: SamplingConfig;
}

const count = z.int().min(1);

const share = z.number().min(0).max(1);

/** Validates {@link EvaluationConfig}. */
export const evaluationSchema: z.ZodType<
  Omit<ResolvedEvaluation, 'sampling'> & { readonly sampling: SamplingConfig | null }
> = z.strictObject({
  every: z.int().min(0).default(0),
  tasks: count.default(128),
  rolloutsPerTask: count.default(1),
  sampling: samplingSchema.nullable().default(null),
  maxMissingShare: share.default(0.05),
});
