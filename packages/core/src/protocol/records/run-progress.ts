import * as z from 'zod';
import { type PromptKind, promptKinds } from '../../algorithm/prompt-search.ts';
import type { Run } from '../../store/run.ts';
import { type PublicationRecord, publicationRecordsSchema } from './publication-record.ts';
import { type VerdictName, verdictNames } from './run-info.ts';
import { readStages } from './run-stages.ts';
import type { RunWarning } from './run-warning.ts';
import { taskTrialsSchema, unsolvedTasks } from './task-trials.ts';
import type { EvaluationSummary, StageSummary, UnsolvedTask } from './training-event.ts';

/**
 * What a run does: trains weights, searches prompts, evaluates, tries its agent out (`agl dev`), or collects the traces of
 * production. `dataset`: a version of a data set, whose rollouts are its lines.
 */
export type RunKind = 'training' | 'prompt-search' | 'evaluation' | 'dev' | 'deployment' | 'dataset';

/** The progress of a prompt search. */
export interface SearchProgress {
  /** The kinds of its prompts, by name. */
  readonly kinds: Readonly<Record<string, PromptKind>>;
  /** The number of evaluated versions. */
  readonly versions: number;
  readonly rollouts: number;
  /** The number of requests to the optimiser model. */
  readonly optimizerCalls: number;
  /** The number of its replies without a valid prompt. */
  readonly unusableReplies: number;
  readonly hasEnded: boolean;
  /** The tasks of the rewards before and after. */
  readonly measuredOn: 'test' | 'validation';
}

/** The progress of a run, as its trainer records it in {@link Run.state}. */
export interface RunProgress {
  readonly kind: RunKind;
  readonly tags: readonly string[];
  /** The last finished step; 0 before the first. */
  readonly finishedStep: number;
  /** The latest number of steps; null for a run without steps. */
  readonly steps: number | null;
  /** The checkpoint of another run that the run began with; null when it began with the base model. */
  readonly from: { readonly runId: string; readonly step: number } | null;
  /** Held-out reward before training; null until measured. */
  readonly before: EvaluationSummary | null;
  /** Held-out reward after training; null until measured. */
  readonly after: EvaluationSummary | null;
  /** The comparison of both; null until measured. */
  readonly verdict: VerdictName | null;
  /** Held-out reward during training, in order. */
  readonly evaluations: readonly { readonly step: number; readonly summary: EvaluationSummary }[];
  /** Mean training reward of each finished step, in order. */
  readonly rewardCurve: readonly number[];
  /** The loss of each finished step that imitates demonstrations, in order; null for another one. */
  readonly lossCurve: readonly (number | null)[];
  /** In order. A newer trainer may have other names. */
  readonly warnings: readonly (Omit<RunWarning, 'name'> & { readonly name: string })[];
  /** The training tasks that `collection.curriculum.setAsideAfter` has set aside, by index. */
  readonly unsolvedTasks: readonly UnsolvedTask[];
  /** The stages that it has begun, in order; none of a run without stages. */
  readonly stages: readonly StageSummary[];
  /** Oldest first. */
  readonly publications: readonly PublicationRecord[];
  /** Null for a run that is not a prompt search. */
  readonly search: SearchProgress | null;
}

const evaluation = z.object({
  reward: z.number(),
  ci95: z.tuple([z.number(), z.number()]),
  rollouts: z.number(),
  failed: z.number().catch(0),
  missing: z.number(),
});

/** Null until measured, and in a run without test tasks, whose evaluations have no rollouts. */
const measured = evaluation
  .nullable()
  .catch(null)
  .transform((summary) => (summary === null || summary.rollouts + summary.missing === 0 ? null : summary));

const spending = { rollouts: z.number(), optimizerCalls: z.number(), unusableReplies: z.number().catch(0) };

/** A part of the state that cannot be read becomes absent: other programs may have written the run. */
const state = z.object({
  kind: z.enum(['training', 'prompt-search', 'evaluation', 'deployment', 'dataset']).catch('training'),
  finishedStep: z.number().catch(0),
  steps: z.number().nullable().catch(null),
  from: z.object({ runId: z.string(), step: z.number() }).nullable().catch(null),
  before: measured,
  after: measured,
  verdict: z.enum(verdictNames).nullable().catch(null),
  evaluations: z.array(z.object({ step: z.number(), summary: evaluation })).catch([]),
  rewardCurve: z.array(z.number()).catch([]),
  lossCurve: z.array(z.number().nullable()).catch([]),
  warnings: z
    .array(z.object({ name: z.string(), step: z.number(), policy: z.string().nullable(), message: z.string() }))
    .catch([]),
  publications: publicationRecordsSchema.catch([]),
  spent: z.object(spending).catch({ rollouts: 0, optimizerCalls: 0, unusableReplies: 0 }),
  versions: z.array(z.unknown()).catch([]),
  ended: z.string().nullable().catch(null),
  measuredOn: z.enum(['test', 'validation']).catch('test'),
});

const tagList = z.array(z.string()).catch([]);

/** Reads the progress of a run, of any version of the trainer. Never throws: what cannot be read is absent. */
export function readRunProgress({ state: recorded, config }: Pick<Run, 'state' | 'config'>): RunProgress {
  const { kind, steps, spent, versions, ended, measuredOn, ...progress } = state.parse(recorded);
  const { steps: configured } = config;
  return {
    ...progress,
    kind: kind === 'evaluation' && config['purpose'] === 'development' ? 'dev' : kind,
    tags: tagList.parse(config['tags']),
    // Older runs have the number in their configuration only.
    steps: steps ?? (typeof configured === 'number' ? configured : null),
    stages: readStages(recorded['stages'], config['stages'], progress.finishedStep),
    unsolvedTasks: readUnsolvedTasks(recorded['taskTrials'], config['collection']),
    search:
      kind === 'prompt-search'
        ? { ...spent, kinds: readKinds(config), versions: versions.length, hasEnded: ended !== null, measuredOn }
        : null,
  };
}

/** Runs of earlier versions have instructions only, and no record of kinds. */
function readKinds({ prompts, searched }: Run['config']): SearchProgress['kinds'] {
  const kinds = z.record(z.string(), z.object({ kind: z.enum(promptKinds) }).catch({ kind: 'instruction' }));
  const known = kinds.safeParse(searched).data ?? {};
  const names = z.record(z.string(), z.unknown()).safeParse(prompts).data ?? {};
  return Object.fromEntries(Object.keys(names).map((name) => [name, known[name]?.kind ?? 'instruction']));
}

/** The trials of all tasks are read only for a run that sets tasks aside: lists read many runs. */
function readUnsolvedTasks(recorded: unknown, collection: unknown): readonly UnsolvedTask[] {
  // Schemas of a function do not enter the bundle of a page that does not call it.
  const settings = z.object({ curriculum: z.object({ setAsideAfter: z.number() }) }).safeParse(collection);
  const trials = z.object({ current: z.array(taskTrialsSchema()) });
  if (!settings.success) return [];
  return unsolvedTasks(trials.safeParse(recorded).data?.current ?? [], settings.data.curriculum.setAsideAfter);
}
