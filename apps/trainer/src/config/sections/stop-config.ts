import { type WarningName, warningNames } from '@agentlightning/core/protocol';
import { z } from 'zod';

/** Conditions that end a run before its last step. The held-out tasks are then evaluated, as after the last step. */
export interface StopConfig {
  /**
   * Mean reward of a step that ends the run when it is reached in three successive steps. It includes groups that were
   * replaced by `collection.refillGroups`.
   *
   * @default never
   */
  readonly reward?: number;
  /** The warnings that end the run. @default none */
  readonly warnings?: readonly WarningName[];
  /** Number of evaluations in a row without an improvement of the best reward; requires `evaluation.every`. @default unlimited */
  readonly patience?: number;
  /**
   * Minimum increase over the best previous evaluation that counts as an improvement, at least 0. `interval`: half of the 95
   * % confidence interval of the best evaluation, so that noise does not count.
   *
   * @default 0
   */
  readonly minDelta?: number | 'interval';
  /**
   * Maximum mean difference between the log-probabilities of trainer and sampler, in nats; a larger one ends the run with an
   * error, because it indicates misaligned tokens. It is that of the tokens which the current weights have sampled, also with
   * `samplerCorrection`. 16-bit engines need a larger value. @default 0.1
   */
  readonly maxLogprobGap?: number;
}

/** The conditions with their defaults. */
export interface StopSettings extends Required<Omit<StopConfig, 'reward' | 'patience'>> {
  /** Null for never. */
  readonly reward: number | null;
  /** Null for no limit. */
  readonly patience: number | null;
}

/** Validates {@link StopConfig}. */
export const stopSchema: z.ZodType<StopSettings> = z.strictObject({
  reward: z.number().nullable().default(null),
  warnings: z.array(z.enum(warningNames)).default([]),
  patience: z.int().min(1).nullable().default(null),
  minDelta: z.union([z.number().min(0), z.literal('interval')]).default(0),
  maxLogprobGap: z.number().positive().default(0.1),
});
