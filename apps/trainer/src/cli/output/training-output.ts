import { failedEventSchema, trainingEventSchema } from '@agentlightning/core/protocol';
import { z } from 'zod';

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

/** A line of `agl train --json`. */
export const trainingLine: z.ZodType = z.union([
  trainingEventSchema,
  z.strictObject({ type: z.literal('dashboard'), url: z.string() }),
  z.strictObject({
    type: z.literal('detached'),
    runId: z.string(),
    pid: z.int(),
    log: z.string(),
    dashboard: z.string().optional(),
  }),
  failedEventSchema,
]);
