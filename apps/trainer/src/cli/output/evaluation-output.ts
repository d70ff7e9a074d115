import { failedEventSchema, verdictNames } from '@agentlightning/core/protocol';
import { z } from 'zod';
import { interval, rewardShape } from './training-output.ts';

const subject = z.strictObject({
  subject: z.string(),
  ...rewardShape,
  missingShare: z.number(),
  parts: z.record(
    z.string(),
    z.strictObject({ reward: z.number().nullable(), ci95: interval.nullable(), rollouts: z.int() }),
  ),
  failures: z.record(z.string(), z.int()).describe('rollouts by cause'),
  constantResponse: z.strictObject({ text: z.string(), reward: z.number(), seenShare: z.number() }).nullable(),
});

const taskDifference = z.strictObject({
  index: z.int(),
  task: z.json(),
  of: z.number(),
  against: z.number(),
  difference: z.number(),
  rolloutOf: z.string(),
  rolloutAgainst: z.string(),
});

/** What both commands write before their results. */
const progressLine = z.union([
  z.strictObject({
    type: z.literal('started'),
    runId: z.string(),
    name: z.string(),
    tasks: z.int(),
    samples: z.int(),
    subjects: z.array(z.string()),
  }),
  z.strictObject({ type: z.literal('warning'), message: z.string() }),
  z.strictObject({ type: z.literal('runners'), runners: z.int() }),
  failedEventSchema,
]);

/** A line of `agl eval --json`. */
export const evaluationLine: z.ZodType = z.union([
  progressLine,
  z.strictObject({ type: z.literal('evaluated'), summary: subject }),
  z.strictObject({
    type: z.literal('finished'),
    report: z.strictObject({
      runId: z.string(),
      tasks: z.int(),
      samples: z.int(),
      of: subject,
      against: subject.nullable(),
      comparison: z
        .strictObject({
          difference: z.number().nullable(),
          ci95: interval.nullable(),
          verdict: z.enum(verdictNames),
          relativeParts: z.array(z.string()).optional(),
          tasks: z.int(),
          pValue: z.number().nullable(),
          missingShare: z.number(),
          gains: z.array(taskDifference),
          losses: z.array(taskDifference),
        })
        .nullable(),
      isDecided: z.boolean(),
      maxMissingShare: z.number(),
      seconds: z.number(),
      storeUrl: z.string(),
    }),
  }),
]);

/** A line of `agl dev --json`. */
export const devLine: z.ZodType = z.union([
  progressLine,
  z.strictObject({
    type: z.literal('rollout'),
    rolloutId: z.string(),
    status: z.string(),
    task: z.json(),
    reward: z.number().nullable(),
    spans: z.int(),
    problems: z.array(z.string()),
  }),
  z.strictObject({
    type: z.literal('finished'),
    runId: z.string(),
    rollouts: z.int(),
    problems: z.array(z.string()),
    storeUrl: z.string(),
  }),
]);

const partMeans = z.record(z.string(), z.number());

/** The output of `agl reward probe --json`. */
export const rewardProbe: z.ZodType = z.strictObject({
  tasks: z.int(),
  kinds: z.array(
    z.strictObject({
      kind: z.string(),
      description: z.string(),
      outputs: z.int(),
      missing: z.int(),
      mean: z.number().nullable(),
      highest: z.number().nullable(),
      parts: partMeans,
      reasons: z.array(z.string()),
      isGameable: z.boolean(),
    }),
  ),
  missingParts: z.record(z.string(), z.string()),
  groupsWithSignal: z.strictObject({ groups: z.int(), differing: z.int() }).nullable(),
  repeated: z.strictObject({ times: z.int(), spread: z.number(), deviation: z.number() }).nullable(),
  step: z.strictObject({ rollouts: z.int(), calls: z.number(), cost: z.number() }).nullable(),
  run: z.string().nullable().describe('the run whose outputs were scored'),
  millisecondsPerOutput: z.number(),
});

const auditAgreement = z
  .strictObject({
    pairs: z.int(),
    agreement: z.number().nullable(),
    prefersLonger: z.number().nullable(),
    prefersEarlier: z.number().nullable(),
  })
  .nullable();

/** The output of `agl audit --json`. */
export const rewardAudit: z.ZodType = z.strictObject({
  runId: z.string(),
  steps: z.array(z.int()),
  rollouts: z.int(),
  series: z.array(
    z.strictObject({
      name: z.string(),
      isHeldOut: z.boolean(),
      steps: z.array(z.int()),
      values: z.array(z.number().nullable()),
    }),
  ),
  findings: z.array(
    z.strictObject({
      code: z.string(),
      message: z.string(),
      evidence: z.record(z.string(), z.number()),
      remedy: z.string(),
      rollouts: z.array(z.strictObject({ rolloutId: z.string(), step: z.int(), reward: z.number().nullable() })),
    }),
  ),
  judge: auditAgreement,
  people: auditAgreement,
  notes: z.array(z.string()),
});

/** The output of `agl rescore --json`. */
export const rescoredRun: z.ZodType = z.strictObject({
  runId: z.string(),
  rollouts: z.int(),
  byLastResponse: z.int().describe('rollouts without a recorded output'),
  missing: z.strictObject({ recorded: z.int(), rescored: z.int() }),
  mean: z.strictObject({ recorded: z.number().nullable(), rescored: z.number().nullable() }),
  rankCorrelation: z.number().nullable(),
  changedSides: z.int(),
  parts: partMeans,
});
