import { AgentLightningError, type JsonObject, type Run } from '@agentlightning/core';
import type { JudgedPrompts } from '@agentlightning/core/algorithm';
import { parse } from '@agentlightning/core/internal';
import { z } from 'zod';
import { type StoredEvaluation, storedEvaluationSchema } from '../evaluation/stored-evaluation.ts';
import { isSearchRun } from '../run/run-state.ts';

/** What ends a search, by option; null for none, and for an option that was left to its default. */
export type SearchLimits = Readonly<
  Record<'maxRollouts' | 'maxOptimizerCalls' | 'rounds' | 'stopAtScore', number | null>
>;

/** What a search must remember to go on after a crash; kept in the store with the run. */
export interface SearchRunState {
  readonly kind: 'prompt-search';
  /** What the algorithm saved last; null before the first time. */
  readonly search: JsonObject | null;
  /** What the optimiser model has answered since then, by question. */
  readonly replies: Readonly<Record<string, string>>;
  /** Every version that was judged, in the order they were made. */
  readonly versions: readonly JudgedPrompts[];
  /** The best of them; null before the first one. */
  readonly best: string | null;
  /** What the search had cost when it was saved last. */
  readonly spent: { readonly rollouts: number; readonly optimizerCalls: number };
  /** Why the search ended; null while it goes on. */
  readonly ended: 'finished' | 'budget' | null;
  /** The limits that it ended with, by option; null while it goes on. */
  readonly limits: SearchLimits | null;
  /** What is measured before and after. */
  readonly measuredOn: 'test' | 'validation';
  /** The outcome of the first version; null until measured. */
  readonly before: StoredEvaluation | null;
  /** The outcome of the best version; null until measured. */
  readonly after: StoredEvaluation | null;
  /** The seed everything is drawn from. */
  readonly seed: number;
}

const promptSet = z.record(
  z.string(),
  z.object({
    resourceType: z.literal('prompt_template'),
    template: z.string(),
    engine: z.enum(['f-string', 'jinja', 'poml']),
  }),
);

const judged = z.object({
  version: z.string(),
  prompts: promptSet,
  parents: z.array(z.string()),
  score: z.number().nullable(),
  scoredTasks: z.int(),
  taskScores: z.array(z.number().nullable()),
});

const limit = z.number().nullable();

const stateSchema: z.ZodType<SearchRunState> = z.object({
  kind: z.literal('prompt-search'),
  search: z.record(z.string(), z.json()).nullable(),
  replies: z.record(z.string(), z.string()),
  versions: z.array(judged),
  best: z.string().nullable(),
  spent: z.object({ rollouts: z.int(), optimizerCalls: z.int() }),
  ended: z.enum(['finished', 'budget']).nullable(),
  // Searches of before there was this do not say.
  limits: z
    .object({ maxRollouts: limit, maxOptimizerCalls: limit, rounds: limit, stopAtScore: limit })
    .nullable()
    .default(null),
  measuredOn: z.enum(['test', 'validation']),
  before: storedEvaluationSchema.nullable(),
  after: storedEvaluationSchema.nullable(),
  seed: z.int(),
});

/** What a search begins with. */
export type SearchBeginning = Pick<SearchRunState, 'seed' | 'measuredOn'>;

/** The state of a search that has not begun. */
export function initialSearchState(beginning: SearchBeginning): SearchRunState {
  return {
    kind: 'prompt-search',
    search: null,
    replies: {},
    versions: [],
    best: null,
    spent: { rollouts: 0, optimizerCalls: 0 },
    ended: null,
    limits: null,
    before: null,
    after: null,
    ...beginning,
  };
}

/**
 * The state that a stored search is in.
 *
 * @throws AgentLightningError CONFIG when the run is no search
 */
export function readSearchState(run: Run): SearchRunState {
  if (isSearchRun(run)) return parse(stateSchema, run.state, `the state of run ${run.runId}`);
  throw new AgentLightningError({
    code: 'CONFIG',
    message: `run ${run.runId} trains a model, and is no search for prompts`,
    remedy: 'Go on with it with the configuration that it began with; `agl runs` lists the runs of a store.',
  });
}
