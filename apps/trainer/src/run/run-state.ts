import { AgentLightningError, type JsonObject, type Run } from '@agentlightning/core';
import { parse } from '@agentlightning/core/internal';
import {
  type CompletionReason,
  completionReasons,
  type EvaluationSummary,
  evaluationSummarySchema,
  type PublicationRecord,
  publicationRecordsSchema,
  type RunEffort,
  type RunWarning,
  runEffortSchema,
  runWarningSchema,
  type TaskTrials,
  taskTrialsSchema,
  type VerdictName,
  verdictNames,
} from '@agentlightning/core/protocol';
import { z } from 'zod';
import type { ModelNaming } from '../config/model-name.ts';
import { onlyPolicy } from '../config/policies.ts';
import { type CollectionState, collectionStateSchema } from './collector.ts';
import { type StoredPassRates, storedPassRatesSchema } from './pass-rates.ts';
import { type StoredEvaluation, storedEvaluationSchema } from './stored-evaluation.ts';
import { type TeacherCheckpoint, teacherCheckpointSchema } from './teacher-checkpoint.ts';

/** The state of a run in its stored form. */
export function writeState(state: object): JsonObject {
  return JSON.parse(JSON.stringify(state)) as JsonObject;
}

/** The state of a run that is needed to resume it, stored with the run. */
export interface RunState {
  /** The last configured number of steps; null in older states. */
  readonly steps: number | null;
  /** The checkpoint of another run that the run began with; null when it began with the base model. */
  readonly from: WarmStart | null;
  /** The checkpoints of other runs that the policies learn from, by policy and stage, as they were when the run began. @default {} */
  readonly teachers?: Readonly<Record<string, TeacherCheckpoint>>;
  /** The last finished training step; 0 before the first. */
  readonly finishedStep: number;
  /** The last saved step and its checkpoint; null before the first. */
  readonly checkpoint: SavedStep | null;
  /** Saved checkpoints, oldest first. */
  readonly checkpoints: readonly SavedStep[];
  /** Held-out reward before training; null until measured. */
  readonly before: StoredEvaluation | null;
  /** Held-out reward after training, of the final checkpoint; null until measured. */
  readonly after: StoredEvaluation | null;
  /** The step of the final checkpoint; null until the run ends, and in older states, whose final one is the last. */
  readonly finalStep: number | null;
  /** The comparison of `before` and `after`; absent or null until the run has finished, and in older states. */
  readonly verdict?: VerdictName | null;
  /** The evaluations of `evaluation.guards`, by name. @default absent in older states, and without guards */
  readonly guards?: Readonly<Record<string, GuardState>>;
  /** Held-out reward during training, by finished step, in order. With validation tasks it is of these, from step 0. */
  readonly evaluations: readonly { readonly step: number; readonly summary: EvaluationSummary }[];
  /** Mean training reward of each finished step, in order. */
  readonly rewardCurve: readonly number[];
  /** The loss of each finished step that imitates demonstrations, in order; null for another one. */
  readonly lossCurve: readonly (number | null)[];
  /** The warnings of finished steps and evaluations, in order. */
  readonly warnings: readonly RunWarning[];
  /** The last publications of weights, in order; those of repeated steps too. */
  readonly publications: readonly PublicationRecord[];
  /** The position of asynchronous collection; null in synchronous mode. */
  readonly collection: CollectionState | null;
  /** The results of training tasks that a curriculum weights them by: after the last step, and at the checkpoint. */
  readonly passRates: { readonly current: StoredPassRates; readonly saved: StoredPassRates };
  /** The rollouts of training tasks, for `collection.curriculum.setAsideAfter`: after the last step, and at the checkpoint. */
  readonly taskTrials: { readonly current: readonly TaskTrials[]; readonly saved: readonly TaskTrials[] };
  /** What the run has used: its time and trained tokens. */
  readonly effort: RunEffort;
  /** The seed of all random draws. */
  readonly seed: number;
  /** The stages that have begun, in order; the last one is the present one. @default absent in a run without stages */
  readonly stages?: readonly StageRecord[];
  /** The job of a run that a vendor trains. @default absent in other runs */
  readonly vendor?: VendorState;
  /** The directory of the embedded runtime's checkpoints. */
  readonly dataDir: string;
  /** The naming scheme of its models in the runtime. */
  readonly modelNaming: ModelNaming;
}

/** The job of a run at a vendor; null for what does not exist yet. */
export interface VendorState {
  readonly fileId: string | null;
  readonly jobId: string | null;
  /** The last event that was reported. */
  readonly eventId: string | null;
  /** The name of the resulting model. */
  readonly model: string | null;
}

const vendorState: z.ZodType<VendorState> = z.object({
  fileId: z.string().nullable(),
  jobId: z.string().nullable(),
  eventId: z.string().nullable(),
  model: z.string().nullable(),
});

/** The evaluations of a guard; null until measured. */
export interface GuardState {
  readonly before: StoredEvaluation;
  /** Of the final checkpoint. */
  readonly after: StoredEvaluation | null;
  /** The comparison of both. */
  readonly verdict: VerdictName | null;
}

const guardState: z.ZodType<GuardState> = z.object({
  before: storedEvaluationSchema,
  after: storedEvaluationSchema.nullable(),
  verdict: z.enum(verdictNames).nullable(),
});

/** The checkpoints of a step: one for each trained policy, by policy name. */
export interface SavedStep {
  readonly step: number;
  readonly uris: Readonly<Record<string, string>>;
}

/** A stage that a run has begun. */
export interface StageRecord {
  /** The last finished step when it began. */
  readonly firstStep: number;
  /** The checkpoint of the stage before that it began with; null for the first. */
  readonly start: SavedStep | null;
  /** Why it ended; null for the present one. */
  readonly ended: CompletionReason | null;
}

/** The checkpoint of another run that a run began with. */
export interface WarmStart extends SavedStep {
  readonly runId: string;
}

const warmStart: z.ZodType<WarmStart> = z.object({
  runId: z.string(),
  step: z.int(),
  uris: z.record(z.string(), z.string()),
});

/** Older states have one checkpoint, without a policy. */
const savedStep: z.ZodType<SavedStep> = z.union([
  z.object({ step: z.int(), uris: z.record(z.string(), z.string()) }),
  z.object({ step: z.int(), uri: z.string() }).transform(({ step, uri }) => ({ step, uris: { [onlyPolicy]: uri } })),
]);

const stageRecord: z.ZodType<StageRecord> = z.object({
  firstStep: z.int().min(0),
  start: savedStep.nullable(),
  ended: z.enum(completionReasons).nullable(),
});

const noEffort: RunEffort = { seconds: 0, trainingTokens: 0 };

const runState: z.ZodType<RunState> = z.object({
  steps: z.int().min(0).nullable().default(null),
  // Absent in older states.
  from: warmStart.nullable().default(null),
  teachers: z.record(z.string(), teacherCheckpointSchema).exactOptional(),
  finishedStep: z.int().min(0),
  checkpoint: savedStep.nullable(),
  checkpoints: z.array(savedStep),
  before: storedEvaluationSchema.nullable(),
  after: storedEvaluationSchema.nullable(),
  // Absent in older states.
  finalStep: z.int().nullable().default(null),
  verdict: z.enum(verdictNames).nullable().exactOptional(),
  guards: z.record(z.string(), guardState).exactOptional(),
  evaluations: z.array(z.object({ step: z.int(), summary: evaluationSummarySchema })),
  rewardCurve: z.array(z.number()),
  // Absent in older states.
  lossCurve: z.array(z.number().nullable()).default([]),
  // Absent in older states.
  warnings: z.array(runWarningSchema).default([]),
  // Absent in older states.
  publications: publicationRecordsSchema.default([]),
  collection: collectionStateSchema.nullable().default(null),
  // Absent in older states.
  passRates: z
    .object({ current: storedPassRatesSchema, saved: storedPassRatesSchema })
    .default({ current: [], saved: [] }),
  // Absent in older states.
  taskTrials: z
    .object({ current: z.array(taskTrialsSchema()), saved: z.array(taskTrialsSchema()) })
    .default({ current: [], saved: [] }),
  // Absent in older states.
  effort: runEffortSchema.default(noEffort),
  seed: z.int(),
  stages: z.array(stageRecord).min(1).exactOptional(),
  vendor: vendorState.exactOptional(),
  dataDir: z.string(),
  // Absent in older states.
  modelNaming: z.enum(['one-hyphen', 'two-hyphens']).default('one-hyphen'),
});

/** The settings of an initial state. */
export interface InitialRunSettings {
  /** The number of steps of all stages. */
  readonly steps: number;
  /** @default none, in a run without stages */
  readonly stages?: readonly unknown[];
  readonly seed: number;
  readonly dataDir: string;
}

/** The initial state of a run. */
export function initialRunState({ steps, stages = [], seed, dataDir }: InitialRunSettings): RunState {
  return {
    steps,
    from: null,
    finishedStep: 0,
    checkpoint: null,
    checkpoints: [],
    before: null,
    after: null,
    finalStep: null,
    evaluations: [],
    rewardCurve: [],
    lossCurve: [],
    warnings: [],
    publications: [],
    collection: null,
    passRates: { current: [], saved: [] },
    taskTrials: { current: [], saved: [] },
    effort: noEffort,
    ...(stages.length === 0 ? {} : { stages: [{ firstStep: 0, start: null, ended: null }] }),
    seed,
    dataDir,
    modelNaming: 'two-hyphens',
  };
}

/**
 * Reads the state of a stored run.
 *
 * @param dataDir - the data directory of the configuration. The recorded one is ignored: clients of the store write it,
 * and the embedded runtime writes checkpoints there
 * @throws AgentLightningError CONFIG when the run is a prompt search
 */
export function readRunState(run: Run, dataDir: string): RunState {
  if (isEvaluationRun(run)) throw nothingTrained(run);
  if (!isSearchRun(run)) return parse(runState, { ...run.state, dataDir }, `the state of run ${run.runId}`);
  throw new AgentLightningError({
    code: 'CONFIG',
    message: `run ${run.runId} is a prompt search and does not train a model`,
    remedy: 'Resume it with its original configuration. `agl runs` lists the runs of a store.',
  });
}

/** Whether a run is an evaluation, according to its state. */
function isEvaluationRun({ state }: Run): boolean {
  return state['kind'] === 'evaluation';
}

function nothingTrained({ runId }: Run): AgentLightningError {
  return new AgentLightningError({
    code: 'CONFIG',
    message: `run ${runId} is an evaluation and does not train a model`,
    remedy: 'Use the id of a training run. `agl runs` lists the runs of a store.',
  });
}

/** Whether a run is a prompt search, according to its state. */
export function isSearchRun({ state }: Run): boolean {
  return state['kind'] === 'prompt-search';
}
