import { z } from 'zod';
import { type TaskSource, taskSourceSchema } from '../task-source.ts';
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
  /**
   * Held-out tasks of what the agent could do before, by name, as `tasks.test`: a file, a list, or `fromStore`. They are evaluated before
   * and after training, each with at most `tasks` tasks. A version that is significantly worse on one of them, or of which that is
   * unknown, is not deployed unless the fall is accepted.
   *
   * @default {}
   */
  readonly guards?: Readonly<Record<string, TaskSource>>;
}

/** The settings of evaluations with their defaults. */
export interface ResolvedEvaluation extends Required<Omit<EvaluationConfig, 'sampling'>> {
  /** That of the training, where it is not configured. */
  readonly sampling: SamplingConfig;
}

const count = z.int().min(1);

const share = z.number().min(0).max(1);

type GivenEvaluation = Omit<ResolvedEvaluation, 'sampling'> & { readonly sampling: SamplingConfig | null };

const evaluationShape = {
  every: z.int().min(0).default(0),
  tasks: count.default(128),
  rolloutsPerTask: count.default(1),
  sampling: samplingSchema.nullable().default(null),
  maxMissingShare: share.default(0.05),
};

/** Validates {@link EvaluationConfig}. */
export const evaluationSchema: z.ZodType<GivenEvaluation> = z.strictObject({
  ...evaluationShape,
  guards: z
    .record(
      z
        .string()
        .regex(/^[a-z0-9][a-z0-9-]{0,39}$/, { error: 'must be 1 to 40 lower-case letters, digits and hyphens' }),
      taskSourceSchema,
    )
    .default({}),
});

/** Validates {@link EvaluationConfig} of a prompt search, which has no guards. */
export const searchEvaluationSchema: z.ZodType<GivenEvaluation> = z
  .strictObject(evaluationShape)
  .transform((given) => ({ ...given, guards: {} }));
