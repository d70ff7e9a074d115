import { z } from 'zod';

/** The thresholds of the warnings about a run that does not learn. */
export interface DiagnosisConfig {
  /** Number of successive steps for which a condition must hold, at least 1. @default 3 */
  readonly steps?: number;
  /**
   * `entropy-collapse`: entropy below this share of that of the first step, while the mean reward is below 90 % of the
   * range. From 0 to 1; 0 disables it. @default 0.1
   */
  readonly entropyCollapse?: number;
  /** `entropy-explosion`: entropy above this multiple of that of the first step, above 1. @default 2 */
  readonly entropyExplosion?: number;
  /** `kl-blow-up`: mean KL divergence from the initial model, in nats per token, above 0. @default 1 */
  readonly maxReferenceKl?: number;
  /** `kl-blow-up`: mean KL divergence from the policy that sampled, in nats per token, above 0. @default 0.2 */
  readonly maxSamplerKl?: number;
  /**
   * `held-out-reward-falls`: maximum fall of the held-out reward below its best while the training reward rises, as a share
   * of the range of rewards, from 0 to 1. @default 0.05
   */
  readonly heldOutDrop?: number;
}

/** The thresholds with their defaults. */
export type DiagnosisSettings = Required<DiagnosisConfig>;

const share = z.number().min(0).max(1);

/** Validates {@link DiagnosisConfig}. */
export const diagnosisSchema: z.ZodType<DiagnosisSettings> = z.strictObject({
  steps: z.int().min(1).default(3),
  entropyCollapse: share.default(0.1),
  entropyExplosion: z.number().gt(1).default(2),
  maxReferenceKl: z.number().positive().default(1),
  maxSamplerKl: z.number().positive().default(0.2),
  heldOutDrop: share.default(0.05),
});
