import { AgentLightningError, type Run } from '@agentlightning/core';
import { parse } from '@agentlightning/core/internal';
import { z } from 'zod';
import { onlyPolicy } from '../config/policies.ts';
import {
  evaluationSummarySchema,
  type StoredEvaluation,
  storedEvaluationSchema,
} from '../evaluation/stored-evaluation.ts';
import type { EvaluationSummary } from '../training-event.ts';
import type { ModelNaming } from './model-name.ts';

/** What a run must remember to go on after a crash; kept in the store with the run. */
export interface RunState {
  /** How many steps it is to have, as it was told last; null in states of before there was this. */
  readonly steps: number | null;
  /** The last finished training step; 0 before the first. */
  readonly finishedStep: number;
  /** The last saved step and its checkpoint; null before the first. */
  readonly checkpoint: SavedStep | null;
  /** Saved checkpoints, oldest first. */
  readonly checkpoints: readonly SavedStep[];
  /** Held-out reward before training; null until measured. */
  readonly before: StoredEvaluation | null;
  /** Held-out reward after training; null until measured. */
  readonly after: StoredEvaluation | null;
  /** Held-out reward in the course of training, by the steps that were finished, in order. */
  readonly evaluations: readonly { readonly step: number; readonly summary: EvaluationSummary }[];
  /** Mean training reward of each finished step, in order. */
  readonly rewardCurve: readonly number[];
  /** The seed everything is drawn from. */
  readonly seed: number;
  /** Where the embedded runtime keeps its checkpoints. */
  readonly dataDir: string;
  /** How its models are called in the runtime. */
  readonly modelNaming: ModelNaming;
}

/** A step that was saved: a checkpoint of every policy that is trained, by the policy's name. */
export interface SavedStep {
  readonly step: number;
  readonly uris: Readonly<Record<string, string>>;
}

/** States of before there were several policies name one checkpoint, without the policy. */
const savedStep: z.ZodType<SavedStep> = z.union([
  z.object({ step: z.int(), uris: z.record(z.string(), z.string()) }),
  z.object({ step: z.int(), uri: z.string() }).transform(({ step, uri }) => ({ step, uris: { [onlyPolicy]: uri } })),
]);

const runState: z.ZodType<RunState> = z.object({
  steps: z.int().min(0).nullable().default(null),
  finishedStep: z.int().min(0),
  checkpoint: savedStep.nullable(),
  checkpoints: z.array(savedStep),
  before: storedEvaluationSchema.nullable(),
  after: storedEvaluationSchema.nullable(),
  evaluations: z.array(z.object({ step: z.int(), summary: evaluationSummarySchema })),
  rewardCurve: z.array(z.number()),
  seed: z.int(),
  dataDir: z.string(),
  // States of before there were two ways do not say.
  modelNaming: z.enum(['one-hyphen', 'two-hyphens']).default('one-hyphen'),
});

/** What a run begins with. */
export interface RunBeginning {
  readonly steps: number;
  readonly seed: number;
  readonly dataDir: string;
}

/** The state of a run that has not begun. */
export function initialRunState({ steps, seed, dataDir }: RunBeginning): RunState {
  return {
    steps,
    finishedStep: 0,
    checkpoint: null,
    checkpoints: [],
    before: null,
    after: null,
    evaluations: [],
    rewardCurve: [],
    seed,
    dataDir,
    modelNaming: 'two-hyphens',
  };
}

/**
 * The state that a stored run is in.
 *
 * @param dataDir - the data directory of the configuration. The recorded one is ignored: clients of the store write it,
 * and the embedded runtime writes checkpoints there
 * @throws AgentLightningError CONFIG when the run searches for prompts
 */
export function readRunState(run: Run, dataDir: string): RunState {
  if (!isSearchRun(run)) return parse(runState, { ...run.state, dataDir }, `the state of run ${run.runId}`);
  throw new AgentLightningError({
    code: 'CONFIG',
    message: `run ${run.runId} is a search for prompts, and trains no model`,
    remedy: 'Go on with it with the configuration that it began with; `agl runs` lists the runs of a store.',
  });
}

/** Whether a run searches for prompts, as far as its state tells. */
export function isSearchRun({ state }: Run): boolean {
  return state['kind'] === 'prompt-search';
}
