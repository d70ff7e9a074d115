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
  'reward-part-falls',
  'non-stationary-reward',
  'missing-rewards',
  'unmatched-selector',
  'several-model-names',
  'reward-out-of-range',
] as const;

/** The name of a warning about a run. */
export type WarningName = (typeof warningNames)[number];

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
  name: z.enum(warningNames),
  step: z.int(),
  policy: z.string().nullable(),
  message: z.string(),
});

/** The likely cause of a condition, and what to do. */
export interface WarningExplanation {
  readonly cause: string;
  readonly remedy: string;
}
