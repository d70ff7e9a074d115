import { z } from 'zod';
import { isCheckpointReference } from '../checkpoint-reference.ts';

/** Which weights a run begins with, keeps and ends with. */
export interface CheckpointsConfig {
  /**
   * Initial checkpoint, of another run in this store and runtime: `<run>@final`, `<run>@best`, `<run>@latest` or
   * `<run>@<step>`, or of a deployment: `<deployment>@live` or `<deployment>@candidate`. Only the weights are loaded; optimizer, steps and policy versions start new. Base model, LoRA and names
   * of `policies` must be equal. A resumed run ignores it.
   *
   * @default the base model
   */
  readonly from?: string;
  /**
   * Number of steps between checkpoints; the last step is always saved. A resumed run continues from the last saved step.
   *
   * @default 1 with the embedded runtime; 10 with a runtime of type `grpc`, whose checkpoints are large
   */
  readonly every?: number;
  /** Number of newest checkpoints that are kept; a resumed run needs the newest. @default 3 */
  readonly keep?: number;
  /**
   * Whether the checkpoint with the best evaluation during training (`evaluation.every`) is kept in addition.
   * @default true
   */
  readonly keepBest?: boolean;
  /**
   * The final checkpoint, which is served at the end, evaluated on the test tasks and exported. `best`: the kept checkpoint
   * with the best evaluation, including the last step, and the later of equal ones; without `evaluation.every` the last one. A
   * selected earlier checkpoint is measured with at least four rollouts of each task, up to 512 in all. A run resumed with more
   * steps always continues from the last one.
   *
   * @default 'best'
   */
  readonly finish?: 'best' | 'last';
}

/** The settings of checkpoints with their defaults. */
export interface CheckpointsSettings extends Required<Omit<CheckpointsConfig, 'from'>> {
  /** Null for the base model. */
  readonly from: string | null;
}

const count = z.int().min(1);

/** Validates {@link CheckpointsConfig}; `every` has a default that depends on the runtime. */
export const checkpointsSchema: z.ZodType<Omit<CheckpointsSettings, 'every'> & { readonly every: number | null }> =
  z.strictObject({
    from: z
      .string()
      .refine(isCheckpointReference, { error: 'must be a checkpoint of a run, such as run-1a2b@best' })
      .nullable()
      .default(null),
    every: count.nullable().default(null),
    keep: count.default(3),
    keepBest: z.boolean().default(true),
    finish: z.enum(['best', 'last']).default('best'),
  });
