import { z } from 'zod';
import { warningNames } from '../../events/run-warning.ts';

/** A confidence interval of 95 %. */
export const interval: z.ZodType = z.tuple([z.number(), z.number()]).describe('95 % confidence interval');

/** Rewards of an evaluation. */
export const rewardShape: Readonly<Record<'reward' | 'ci95' | 'rollouts' | 'failed' | 'missing', z.ZodType>> = {
  reward: z.number().nullable().describe('mean; null without any reward'),
  ci95: interval.nullable(),
  rollouts: z.int().describe('rollouts with a reward'),
  failed: z.int(),
  missing: z.int().describe('rollouts without a reward'),
};

/** A warning; named conditions have a cause and a remedy. */
export const warningLine: z.ZodType = z.union([
  z.strictObject({ event: z.literal('warning'), message: z.string() }),
  z.strictObject({
    event: z.literal('warning'),
    name: z.enum(warningNames),
    step: z.int(),
    policy: z.string().nullable(),
    message: z.string(),
    cause: z.string(),
    remedy: z.string(),
  }),
]);

/** The last line of a run that failed. */
export const failedLine: z.ZodType = z.strictObject({
  event: z.literal('failed'),
  code: z.string().nullable().describe('an error code; null for an unexpected error'),
  message: z.string(),
  run: z.string().nullable(),
  resume: z.string().nullable().describe('the command that resumes the run'),
});

const promptsOutcome = z.strictObject({
  versions: z.int(),
  best: z.string(),
  ended: z.enum(['finished', 'budget']),
  measured_on: z.enum(['test', 'validation']),
  rollouts: z.int(),
  optimizer_calls: z.int(),
  unusable_replies: z.int(),
  optimizer_input_tokens: z.int().nullable(),
  optimizer_output_tokens: z.int().nullable(),
  optimizer_cost: z.number().nullable().describe('in the currency of the prices; null without a known price'),
  file: z.string(),
});

const startedLine = z.strictObject({
  event: z.literal('started'),
  run: z.string(),
  name: z.string(),
  steps: z.int(),
  first_step: z.int().describe('above 1 for a resumed run'),
  train_tasks: z.int(),
  heldout: z.int(),
  algorithm: z.string(),
  device: z.string(),
  search: z
    .strictObject({
      validation: z.int(),
      prompts: z.array(z.string()),
      optimizer: z.string(),
      max_rollouts: z.int().nullable(),
      max_optimizer_calls: z.int().nullable(),
      versions: z.int(),
    })
    .optional()
    .describe('of a prompt search'),
});

const stepLine = z.strictObject({
  event: z.literal('step'),
  step: z.int(),
  steps: z.int(),
  reward: z.number().nullable(),
  entropy: z.number().nullable(),
  tokens_per_second: z.number().nullable(),
  seconds: z.number(),
  seconds_left: z.number().nullable(),
  metrics: z.record(z.string(), z.number().nullable()),
});

const doneLine = z.strictObject({
  event: z.literal('done'),
  reward_before: z.number().nullable(),
  reward_after: z.number().nullable(),
  heldout: z.int(),
  ci95_before: interval.nullable(),
  ci95_after: interval.nullable(),
  verdict: z.enum(['better', 'worse', 'not-significant', 'undecided']),
  caveats: z.array(z.string()).describe('what the verdict on the mean reward does not show'),
  improved: z.boolean().nullable().describe('null: too many rewards are missing'),
  p_value: z.number().nullable(),
  missing_share: z.number(),
  ended: z.string().optional(),
  warnings: z.array(z.string()).optional(),
  constant_response: z
    .strictObject({ text: z.string(), reward: z.number(), seen_share: z.number() })
    .nullable()
    .optional()
    .describe('the best constant response to the held-out tasks'),
  final_step: z.int().optional(),
  selected_on: z.string().nullable().optional(),
  seconds: z.number(),
  run: z.string(),
  store: z.string(),
  rollout_before: z.string().nullable(),
  rollout_after: z.string().nullable(),
  prompts: promptsOutcome.optional(),
});

/** A line of `agl train --json`. */
export const trainingLine: z.ZodType = z.union([
  startedLine,
  z.strictObject({
    event: z.literal('evaluated'),
    phase: z.enum(['before', 'during', 'after']),
    step: z.int(),
    tasks: z.enum(['test', 'validation']),
    ...rewardShape,
  }),
  stepLine,
  z.strictObject({ event: z.literal('checkpoint'), step: z.int(), uri: z.string(), policy: z.string().optional() }),
  z.strictObject({
    event: z.literal('prompts'),
    version: z.string(),
    score: z.number().nullable(),
    scored_tasks: z.int(),
    parents: z.array(z.string()),
    best_score: z.number().nullable(),
  }),
  z.strictObject({ event: z.literal('runners'), runners: z.int() }),
  z.strictObject({ event: z.literal('dashboard'), url: z.string() }),
  z.strictObject({
    event: z.literal('nothing_left'),
    run: z.string(),
    reason: z.string(),
    step: z.int().optional(),
    steps: z.int().optional(),
  }),
  z.strictObject({
    event: z.literal('detached'),
    run: z.string(),
    pid: z.int(),
    log: z.string(),
    dashboard: z.string().optional(),
  }),
  warningLine,
  doneLine,
  failedLine,
]);
