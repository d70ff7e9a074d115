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
   * `high-clip-fraction`: fraction of training tokens for which a clip of the loss was in force, from 0 to 1; 1 disables it.
   * Healthy runs are reported at about 0.001 with clips by token (GRPO) and at 0.15 with clips by sequence (Zheng et al.
   * 2025, Group Sequence Policy Optimization, figure 2); the default is twice the larger one. @default 0.3
   */
  readonly maxClipFraction?: number;
  /**
   * `low-effective-samples`: effective share of the training tokens, `mean(r)² / mean(r²)` of their probability ratios (Kish
   * 1965), from 0 to 1; 0 disables it. The default is the threshold below which sequential Monte Carlo replaces weighted
   * samples (Doucet and Johansen 2009, A tutorial on particle filtering and smoothing, section 3.5). @default 0.5
   */
  readonly minEffectiveSamples?: number;
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
  maxClipFraction: share.default(0.3),
  minEffectiveSamples: share.default(0.5),
  heldOutDrop: share.default(0.05),
});
