import { z } from 'zod';
import { failedLine, interval, rewardShape, warningLine } from './training-output.ts';

const subject = {
  subject: z.string(),
  ...rewardShape,
  missing_share: z.number(),
  parts: z.record(
    z.string(),
    z.strictObject({ reward: z.number().nullable(), ci95: interval.nullable(), rollouts: z.int() }),
  ),
  failures: z.record(z.string(), z.int()).describe('rollouts by cause'),
};

const taskDifference = z.strictObject({
  index: z.int(),
  task: z.json(),
  of: z.number(),
  against: z.number(),
  difference: z.number(),
  rollout_of: z.string(),
  rollout_against: z.string(),
});

const startedLine = z.strictObject({
  event: z.literal('started'),
  run: z.string(),
  name: z.string(),
  tasks: z.int(),
  samples: z.int(),
  subjects: z.array(z.string()),
});

const runnersLine = z.strictObject({ event: z.literal('runners'), runners: z.int() });

/** A line of `agl eval --json`. */
export const evaluationLine: z.ZodType = z.union([
  startedLine,
  z.strictObject({ event: z.literal('evaluated'), ...subject }),
  warningLine,
  runnersLine,
  z.strictObject({
    event: z.literal('done'),
    run: z.string(),
    tasks: z.int(),
    samples: z.int(),
    of: z.strictObject(subject),
    against: z.strictObject(subject).nullable(),
    comparison: z
      .strictObject({
        difference: z.number().nullable(),
        ci95: interval.nullable(),
        verdict: z.enum(['better', 'worse', 'not-significant', 'undecided']),
        tasks: z.int(),
        p_value: z.number().nullable(),
        missing_share: z.number(),
        gains: z.array(taskDifference),
        losses: z.array(taskDifference),
      })
      .nullable(),
    decided: z.boolean(),
    max_missing_share: z.number(),
    seconds: z.number(),
    store: z.string(),
  }),
  failedLine,
]);

/** A line of `agl dev --json`. */
export const devLine: z.ZodType = z.union([
  startedLine,
  warningLine,
  runnersLine,
  z.strictObject({
    event: z.literal('rollout'),
    rollout: z.string(),
    status: z.string(),
    task: z.json(),
    reward: z.number().nullable(),
    spans: z.int(),
    problems: z.array(z.string()),
  }),
  z.strictObject({
    event: z.literal('done'),
    run: z.string(),
    rollouts: z.int(),
    problems: z.array(z.string()),
    store: z.string(),
  }),
  failedLine,
]);
