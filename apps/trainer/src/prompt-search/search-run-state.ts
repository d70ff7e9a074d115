import { AgentLightningError, type JsonObject, type Run } from '@agentlightning/core';
import type { JudgedPrompts } from '@agentlightning/core/algorithm';
import { parse } from '@agentlightning/core/internal';
import {
  judgedPromptsSchema,
  modelUsageSchema,
  type PromptsOutcome,
  type RunEffort,
  runEffortSchema,
} from '@agentlightning/core/protocol';
import type { ModelUsage } from '@agentlightning/core/store';
import { z } from 'zod';
import type { ResolvedPromptSearch } from '../config/resolve-prompt-search.ts';
import { isSearchRun } from '../run/run-state.ts';
import { type StoredEvaluation, storedEvaluationSchema } from '../run/stored-evaluation.ts';

/** The configured limits of a search. */
export function limitsOf({ search, algorithm }: Pick<ResolvedPromptSearch, 'search' | 'algorithm'>): SearchLimits {
  const { maxRollouts, maxOptimizerCalls } = search.budget;
  const { rounds, stopAtScore } = algorithm;
  return { maxRollouts, maxOptimizerCalls, rounds: numberOf(rounds), stopAtScore: numberOf(stopAtScore) };
}

/** Whether the limits of an ended search have changed, so that it may continue. */
export function areOtherLimits(ended: SearchLimits | null, now: SearchLimits): boolean {
  if (ended === null) return false;
  return limitNames.some((name) => ended[name] !== now[name]);
}

const limitNames = ['maxRollouts', 'maxOptimizerCalls', 'rounds', 'stopAtScore'] as const;

function numberOf(value: unknown): number | null {
  return typeof value === 'number' ? value : null;
}

/** Limits of a search by option; null for none, and for options with default values. */
export type SearchLimits = Readonly<
  Record<'maxRollouts' | 'maxOptimizerCalls' | 'rounds' | 'stopAtScore', number | null>
>;

/** State that a search resumes from after a crash; stored with the run. */
export interface SearchRunState {
  readonly kind: 'prompt-search';
  /** The algorithm's last saved state; null before the first. */
  readonly search: JsonObject | null;
  /** Replies of the optimiser model since then, by request. */
  readonly replies: Readonly<Record<string, string>>;
  /** All evaluated versions, in order of creation. */
  readonly versions: readonly JudgedPrompts[];
  /** The best version; null before the first. */
  readonly best: string | null;
  /** Rollouts and optimiser calls at the last save. */
  readonly spent: { readonly rollouts: number; readonly optimizerCalls: number; readonly unusableReplies: number };
  /** The time in which the search was worked on. */
  readonly effort: RunEffort;
  /** Token usage of the optimiser model; null before its first response. */
  readonly optimizerUsage: ModelUsage | null;
  /** Why the search ended; null while it runs. */
  readonly ended: PromptsOutcome['ended'] | null;
  /** The limits that it ended with, by option; null while it runs. */
  readonly limits: SearchLimits | null;
  /** The tasks of the measurements before and after. */
  readonly measuredOn: 'test' | 'validation';
  /** The outcome of the first version; null until measured. */
  readonly before: StoredEvaluation | null;
  /** The outcome of the best version; null until measured. */
  readonly after: StoredEvaluation | null;
  /** The seed of all random numbers. */
  readonly seed: number;
}

const limit = z.number().nullable();

const stateSchema: z.ZodType<SearchRunState> = z.object({
  kind: z.literal('prompt-search'),
  search: z.record(z.string(), z.json()).nullable(),
  replies: z.record(z.string(), z.string()),
  versions: z.array(judgedPromptsSchema),
  best: z.string().nullable(),
  // The replies are absent in states written by earlier versions.
  spent: z.object({ rollouts: z.int(), optimizerCalls: z.int(), unusableReplies: z.int().default(0) }),
  // Absent in states written by earlier versions.
  effort: runEffortSchema.default({ seconds: 0, trainingTokens: 0 }),
  // Absent in states written by earlier versions.
  optimizerUsage: modelUsageSchema.nullable().default(null),
  ended: z.enum(['finished', 'budget', 'no-new-version']).nullable(),
  // Absent in states written by earlier versions.
  limits: z
    .object({ maxRollouts: limit, maxOptimizerCalls: limit, rounds: limit, stopAtScore: limit })
    .nullable()
    .default(null),
  measuredOn: z.enum(['test', 'validation']),
  before: storedEvaluationSchema.nullable(),
  after: storedEvaluationSchema.nullable(),
  seed: z.int(),
});

/** Initial values of a search. */
export type SearchBeginning = Pick<SearchRunState, 'seed' | 'measuredOn'>;

/** The state of a new search. */
export function initialSearchState(beginning: SearchBeginning): SearchRunState {
  return {
    kind: 'prompt-search',
    search: null,
    replies: {},
    versions: [],
    best: null,
    spent: { rollouts: 0, optimizerCalls: 0, unusableReplies: 0 },
    effort: { seconds: 0, trainingTokens: 0 },
    optimizerUsage: null,
    ended: null,
    limits: null,
    before: null,
    after: null,
    ...beginning,
  };
}

/**
 * Reads the state of a stored search.
 *
 * @throws AgentLightningError CONFIG when the run is not a prompt search
 */
export function readSearchState(run: Run): SearchRunState {
  if (isSearchRun(run)) return parse(stateSchema, run.state, `the state of run ${run.runId}`);
  throw new AgentLightningError({
    code: 'CONFIG',
    message: `run ${run.runId} trains a model and is not a prompt search`,
    remedy: 'Resume it with its original configuration; `agl runs` lists the runs of a store.',
  });
}
