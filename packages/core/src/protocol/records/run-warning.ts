import * as z from 'zod';

/** The conditions that are detected in a run that does not learn. */
export const warningNames = [
  'agent-failures',
  'agent-timeouts',
  'altered-sampling',
  'constant-groups',
  'constant-rewards',
  'zero-advantages',
  'truncated-responses',
  'all-responses-truncated',
  'reward-ignores-response',
  'policy-collapse',
  'weights-do-not-move',
  'entropy-collapse',
  'entropy-explosion',
  'kl-blow-up',
  'high-clip-fraction',
  'low-effective-samples',
  'sampler-drift',
  'held-out-reward-falls',
  'proxy-diverges',
  'length-drift',
  'non-stationary-reward',
  'missing-rewards',
  'unmatched-selector',
  'several-model-names',
  'reward-out-of-range',
  'unsolved-tasks',
] as const;

/** The name of a warning about a run. */
export type WarningName = (typeof warningNames)[number];

/** The thresholds of the warnings about a run that does not learn. */
export const warningThresholds: {
  readonly steps: number;
  readonly entropyCollapse: number;
  readonly entropyExplosion: number;
  readonly maxReferenceKl: number;
  readonly maxSamplerKl: number;
  readonly maxClipFraction: number;
  readonly minEffectiveSamples: number;
  readonly heldOutDrop: number;
  readonly lengthGrowth: number;
  readonly lengthCorrelation: number;
} = {
  /** Number of successive steps for which a condition must hold. */
  steps: 3,
  /** `entropy-collapse`: entropy below this share of that of the first step, while the mean reward is below 90 % of the range. */
  entropyCollapse: 0.1,
  /** `entropy-explosion`: entropy above this multiple of that of the first step. */
  entropyExplosion: 2,
  /** `kl-blow-up`: mean KL divergence from the initial model, in nats per token. */
  maxReferenceKl: 1,
  /** `kl-blow-up`: mean KL divergence from the policy that sampled, in nats per token. */
  maxSamplerKl: 0.2,
  /**
   * `high-clip-fraction`: fraction of training tokens for which a clip of the loss was in force. Healthy runs are reported at
   * about 0.001 with clips by token (GRPO) and at 0.15 with clips by sequence (Zheng et al. 2025, Group Sequence Policy
   * Optimization, figure 2); the limit is twice the larger one.
   */
  maxClipFraction: 0.3,
  /**
   * `low-effective-samples`: effective share of the training tokens, `mean(r)² / mean(r²)` of their probability ratios (Kish
   * 1965). The limit is the one below which sequential Monte Carlo replaces weighted samples (Doucet and Johansen 2009, A
   * tutorial on particle filtering and smoothing, section 3.5).
   */
  minEffectiveSamples: 0.5,
  /**
   * `held-out-reward-falls`: fall of the held-out reward below its best while the training reward rises, as a share of the
   * range of rewards.
   */
  heldOutDrop: 0.05,
  /** `length-drift`: mean response tokens above this multiple of those of the first steps. */
  lengthGrowth: 1.5,
  /** `length-drift`: rank correlation of length and reward within groups, in the mean of the last steps. */
  lengthCorrelation: 0.5,
};

/** A warning about a run, with its likely cause and remedy. */
export interface RunWarning {
  readonly name: WarningName;
  /** The last finished step when the condition was detected. */
  readonly step: number;
  /** The affected policy; null for the run as a whole. */
  readonly policy: string | null;
  /** The observation, with its values. */
  readonly message: string;
}

/** A warning in the state of a run. */
export const runWarningSchema: z.ZodType<RunWarning> = z.object({
  // An older name in older states.
  name: z.preprocess((name) => (name === 'reward-part-falls' ? 'proxy-diverges' : name), z.enum(warningNames)),
  step: z.int(),
  policy: z.string().nullable(),
  message: z.string(),
});

/** The likely cause of a condition, and what to do. */
export interface WarningExplanation {
  readonly cause: string;
  readonly remedy: string;
}
