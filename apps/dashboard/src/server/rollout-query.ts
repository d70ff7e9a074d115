import type { JsonObject, RolloutMode, RolloutStatus } from '@agentlightning/core';
import { parse, rolloutModes } from '@agentlightning/core/internal';
import type { RolloutSearch } from '@agentlightning/core/store';
import { z } from 'zod';
import type { RolloutSort } from '../api/rollout-views.ts';

const statuses = ['queuing', 'preparing', 'running', 'succeeded', 'failed', 'requeuing', 'cancelled'] as const;
const sorts = ['newest', 'oldest', 'reward-high', 'reward-low'] as const satisfies readonly RolloutSort[];

/** The filters and the order of a list of rollouts. */
export interface RolloutFilter {
  /** Id of the run. */
  readonly run?: string | undefined;
  /** Any of these statuses. */
  readonly status?: readonly RolloutStatus[] | undefined;
  /** Any of these purposes. */
  readonly mode?: readonly RolloutMode[] | undefined;
  /** Index of the task. */
  readonly task?: number | undefined;
  /** The training step. */
  readonly step?: number | undefined;
  /** Id of the group. */
  readonly group?: string | undefined;
  /** A part of the rollout's id. */
  readonly id?: string | undefined;
  /** Words of the task input, the messages, the tool calls, the outputs or the errors of a finished rollout. */
  readonly text?: string | undefined;
  /** A person's label; `none` for rollouts without one, `any` for those with one. */
  readonly label?: RolloutSearch['label'] | undefined;
  /** Rollouts without a reward do not match a bound. */
  readonly minReward?: number | undefined;
  /** Largest final reward. */
  readonly maxReward?: number | undefined;
  /** @default 'newest' */
  readonly sort?: RolloutSort | undefined;
  /** Maximum number of rollouts, 1 to 500. @default 100 */
  readonly limit?: number | undefined;
  /** `nextCursor` of the previous page. */
  readonly cursor?: string | undefined;
}

/** The schemas of {@link RolloutFilter}, with descriptions, for every tool that lists rollouts. */
export const rolloutFilterFields: { readonly [TName in keyof RolloutFilter]-?: z.ZodType<RolloutFilter[TName]> } = {
  run: z.string().min(1).max(200).optional().describe('Id of a run, such as run-1a2b3c4d'),
  status: z.array(z.enum(statuses)).min(1).optional(),
  mode: z.array(z.enum(rolloutModes)).min(1).optional(),
  task: z.int().optional().describe('Index of the task'),
  step: z.int().optional().describe('Training step'),
  group: z.string().min(1).max(200).optional().describe('Id of a group'),
  id: z.string().min(1).max(200).optional().describe('Part of the id of a rollout'),
  text: z
    .string()
    .min(1)
    .max(1000)
    .optional()
    .describe('Words of the task, messages, tool calls, outputs or errors of finished rollouts; * ends a prefix'),
  label: z.enum(['good', 'bad', 'none', 'any']).optional().describe('Label that a person gave'),
  minReward: z.number().optional().describe('Lowest reward; leaves out rollouts without one'),
  maxReward: z.number().optional().describe('Highest reward; leaves out rollouts without one'),
  sort: z.enum(sorts).optional().describe('Default: newest first; orders by reward list rollouts with a reward only'),
  limit: z.int().min(1).max(500).optional().describe('Maximum number of rollouts'),
  cursor: z.string().max(1000).optional().describe('nextCursor of the previous page, with the same filters'),
};

const rolloutFilter: z.ZodType<RolloutFilter> = z.strictObject(rolloutFilterFields);

/** Parameters with several values, separated by commas. */
const lists: ReadonlySet<string> = new Set<keyof RolloutFilter>(['status', 'mode']);
const numbers: ReadonlySet<string> = new Set<keyof RolloutFilter>(['task', 'step', 'minReward', 'maxReward', 'limit']);

/**
 * Reads the parameters of a list of rollouts.
 *
 * @throws ValidationError for unknown and invalid parameters
 */
export function readRolloutFilter(query: Readonly<Record<string, string>>): RolloutFilter {
  const values = Object.entries(query).map(([name, text]) => [
    name,
    lists.has(name) ? text.split(',') : numbers.has(name) ? Number(text) : text,
  ]);
  return parse(rolloutFilter, Object.fromEntries(values), 'Query');
}

/** The search of the store that a filter stands for. */
export function rolloutSearch(filter: RolloutFilter): RolloutSearch {
  const { run, status, mode, task, step, group, id, text, label, minReward, maxReward, sort = 'newest' } = filter;
  const metadata: JsonObject = {
    ...(task === undefined ? {} : { task_index: task }),
    ...(step === undefined ? {} : { step }),
    ...(group === undefined ? {} : { group_id: group }),
  };
  return {
    ...(run === undefined ? {} : { runId: run }),
    ...(status === undefined ? {} : { statusIn: status }),
    ...(mode === undefined ? {} : { modeIn: mode }),
    ...(id === undefined ? {} : { rolloutIdContains: id }),
    ...(text === undefined ? {} : { text }),
    ...(label === undefined ? {} : { label }),
    ...(minReward === undefined ? {} : { minReward }),
    ...(maxReward === undefined ? {} : { maxReward }),
    ...(Object.keys(metadata).length === 0 ? {} : { metadata }),
    ...(filter.cursor === undefined ? {} : { cursor: filter.cursor }),
    sortBy: sort.startsWith('reward') ? 'reward' : 'creation',
    sortOrder: sort === 'oldest' || sort === 'reward-low' ? 'asc' : 'desc',
    limit: filter.limit ?? 100,
  };
}
