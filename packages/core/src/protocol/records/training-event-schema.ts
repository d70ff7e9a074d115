import * as z from 'zod';
import { type JudgedPrompts, promptKinds } from '../../algorithm/prompt-search.ts';
import type { RunStatus } from '../../store/run.ts';
import { wireJsonObject } from '../wire/wire-json.ts';
import { wireRunStatusSchema } from '../wire/wire-run.ts';
import { verdictNames } from './run-info.ts';
import { runWarningSchema } from './run-warning.ts';
import {
  completionReasons,
  type EvaluationSummary,
  type PromptsOutcome,
  type TrainingEvent,
  type TrainingSummary,
} from './training-event.ts';

const interval = z.tuple([z.number(), z.number()]);

/** Reads an {@link EvaluationSummary} from JSON. */
export const evaluationSummarySchema: z.ZodType<EvaluationSummary> = z.object({
  reward: z.number(),
  ci95: interval,
  rollouts: z.int(),
  failed: z.int(),
  missing: z.int(),
});

const stepSummary = z.object({
  step: z.int(),
  steps: z.int(),
  reward: z.number(),
  entropy: z.number().nullable(),
  tokensPerSecond: z.number(),
  seconds: z.number(),
  secondsLeft: z.number(),
  metrics: z.record(z.string(), z.number()),
});

const completionReason = z.enum(completionReasons);

const heldOutTasks = z.enum(['test', 'validation']);

/** Reads a version of a prompt search from JSON. */
export const judgedPromptsSchema: z.ZodType<JudgedPrompts> = z.object({
  version: z.string(),
  prompts: z.record(
    z.string(),
    z.object({
      resourceType: z.literal('prompt_template'),
      template: z.string(),
      engine: z.enum(['f-string', 'jinja', 'poml']),
    }),
  ),
  parents: z.array(z.string()),
  score: z.number().nullable(),
  scoredTasks: z.int(),
  taskScores: z.array(z.number().nullable()),
  examples: z
    .record(z.string(), z.array(z.object({ task: z.int(), reward: z.number(), rolloutId: z.string().nullable() })))
    .exactOptional(),
});

const kinds = z.record(z.string(), z.enum(promptKinds)).exactOptional();

const promptsOutcome: z.ZodType<PromptsOutcome> = z.object({
  versions: z.array(judgedPromptsSchema),
  kinds,
  best: z.string(),
  ended: z.enum(['finished', 'budget', 'no-new-version']),
  measuredOn: heldOutTasks,
  rollouts: z.int(),
  optimizerCalls: z.int(),
  unusableReplies: z.int(),
  optimizerUse: z
    .object({
      inputTokens: z.number(),
      outputTokens: z.number(),
      cost: z.object({ amount: z.number().nullable(), currency: z.string(), missing: z.array(z.string()) }),
    })
    .nullable(),
  file: z.string(),
});

const trainingSummary: z.ZodType<TrainingSummary> = z.object({
  runId: z.string(),
  before: evaluationSummarySchema,
  after: evaluationSummarySchema,
  verdict: z.enum(verdictNames),
  caveats: z.array(z.string()),
  isImproved: z.boolean().nullable(),
  pValue: z.number().nullable(),
  missingShare: z.number(),
  relativeParts: z.array(z.string()).exactOptional(),
  rewardCurve: z.array(z.number()),
  seconds: z.number(),
  exampleBefore: z.string().nullable(),
  exampleAfter: z.string().nullable(),
  dataDir: z.string(),
  storeUrl: z.string(),
  training: z
    .object({
      ended: completionReason,
      warnings: z.array(runWarningSchema),
      lossCurve: z.array(z.number()),
      constantResponse: z.object({ text: z.string(), reward: z.number(), seenShare: z.number() }).nullable(),
      final: z.object({ step: z.int(), selectedOn: heldOutTasks.nullable(), candidates: z.int() }),
      stages: z
        .array(
          z.object({
            algorithm: z.string(),
            firstStep: z.int(),
            lastStep: z.int(),
            startStep: z.int().nullable(),
            ended: completionReason.nullable(),
          }),
        )
        .exactOptional(),
      unsolvedTasks: z
        .array(z.object({ task: z.int(), rollouts: z.int(), examples: z.array(z.string()) }))
        .exactOptional(),
    })
    .exactOptional(),
  prompts: promptsOutcome.exactOptional(),
});

const budget = { maxRollouts: z.int().nullable(), maxOptimizerCalls: z.int().nullable() };

/** Reads a {@link TrainingEvent} from JSON; fields that it does not have are removed. */
export const trainingEventSchema: z.ZodType<TrainingEvent> = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('started'),
    runId: z.string(),
    name: z.string(),
    steps: z.int(),
    firstStep: z.int(),
    trainTasks: z.int(),
    heldOutTasks: z.int(),
    algorithm: z.string(),
    model: z.string(),
    device: z.string(),
    stage: z.object({ number: z.int(), of: z.int() }).exactOptional(),
    search: z
      .object({
        ...budget,
        validationTasks: z.int(),
        prompts: z.array(z.string()),
        kinds,
        optimizer: z.string().nullable(),
        versions: z.int(),
      })
      .exactOptional(),
  }),
  z.object({
    type: z.literal('evaluated'),
    step: z.int(),
    phase: z.enum(['before', 'during', 'after']),
    tasks: heldOutTasks,
    summary: evaluationSummarySchema,
  }),
  z.object({
    type: z.literal('rollout-finished'),
    phase: z.enum(['step', 'before', 'during', 'after']),
    step: z.int(),
    finished: z.int(),
    total: z.int(),
  }),
  z.object({ type: z.literal('stepped'), summary: stepSummary }),
  z.object({
    type: z.literal('checkpointed'),
    step: z.int(),
    uri: z.string(),
    policy: z.string().nullable(),
  }),
  z.object({
    type: z.literal('prompts-judged'),
    version: z.string(),
    score: z.number().nullable(),
    scoredTasks: z.int(),
    parents: z.array(z.string()),
    bestScore: z.number().nullable(),
  }),
  z.object({
    type: z.literal('search-progress'),
    waitingSeconds: z.number().exactOptional(),
    ...budget,
    rollouts: z.int(),
    running: z.int(),
    optimizerCalls: z.int(),
    bestScore: z.number().nullable(),
  }),
  z.object({
    type: z.literal('nothing-left'),
    runId: z.string(),
    finishedStep: z.int(),
    steps: z.int(),
    reason: z.enum([...completionReason.options, 'limits']),
  }),
  z.object({ type: z.literal('fine-tuning'), message: z.string(), jobId: z.string().nullable() }),
  z.object({ type: z.literal('runners'), runners: z.int() }),
  z.object({ type: z.literal('agent-output'), line: z.string() }),
  z.object({
    type: z.literal('warning'),
    message: z.string(),
    details: wireJsonObject.exactOptional(),
    condition: z.intersection(runWarningSchema, z.object({ cause: z.string(), remedy: z.string() })).exactOptional(),
  }),
  z.object({ type: z.literal('finished'), summary: trainingSummary }),
]);

/** The last event of a run that failed. */
export interface FailedEvent {
  readonly type: 'failed';
  /** Null before the run has an id. */
  readonly runId: string | null;
  /** An error code; null for an unexpected error. */
  readonly code: string | null;
  readonly message: string;
  /** What to do; empty when nothing is known. */
  readonly remedy: string;
  /** The command that resumes the run; null without one, such as on a training server. */
  readonly resume: string | null;
}

/** Reads a {@link FailedEvent} from JSON. */
export const failedEventSchema: z.ZodType<FailedEvent> = z.object({
  type: z.literal('failed'),
  runId: z.string().nullable(),
  code: z.string().nullable(),
  message: z.string(),
  remedy: z.string(),
  resume: z.string().nullable(),
});

/** The run has used its budget: it is stopped with its last step saved, and continues with a larger budget. */
export interface PausedEvent {
  readonly type: 'paused';
  readonly runId: string;
  /** The limit that is reached, and what was used. */
  readonly message: string;
  /** How to continue. */
  readonly remedy: string;
}

/** An event of a run on a training server: of its training, or of its queue. The last one of a stream is `end`. */
export type RunEvent = (
  | TrainingEvent
  | {
      readonly type: 'queued';
      readonly runId: string;
      /** `another project`: its process was ended for a run of another project. @default absent for a new or resumed run */
      readonly reason?: 'another project';
    }
  | { readonly type: 'stopped'; readonly runId: string }
  | PausedEvent
  | FailedEvent
  | { readonly type: 'end'; readonly status: RunStatus }
) & {
  /** Unix seconds. @default absent in `end` */
  readonly time?: number;
};

const time = z.object({ time: z.number().exactOptional() });

/** Reads a {@link RunEvent} from JSON. */
export const runEventSchema: z.ZodType<RunEvent> = z.union([
  z.intersection(trainingEventSchema, time),
  z.intersection(failedEventSchema, time),
  z.object({
    type: z.literal('queued'),
    runId: z.string(),
    reason: z.literal('another project').exactOptional(),
    ...time.shape,
  }),
  z.object({ type: z.literal('stopped'), runId: z.string(), ...time.shape }),
  z.object({ type: z.literal('paused'), runId: z.string(), message: z.string(), remedy: z.string(), ...time.shape }),
  z.object({ type: z.literal('end'), status: wireRunStatusSchema, ...time.shape }),
]);
