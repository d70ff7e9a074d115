import { type JsonObject, type RolloutMode, type RolloutStatus, ValidationError } from '@agentlightning/core';
import { parse } from '@agentlightning/core/internal';
import type { RolloutQuery } from '@agentlightning/core/store';
import { z } from 'zod';
import type { RolloutSort } from '../api/rollout-views.ts';

const statuses = ['queuing', 'preparing', 'running', 'succeeded', 'failed', 'requeuing', 'cancelled'] as const;
const modes = ['train', 'val', 'test'] as const;
const sorts = ['newest', 'oldest', 'reward-high', 'reward-low'] as const satisfies readonly RolloutSort[];

/** A list in a parameter, separated by commas. */
const listOf = <TValue extends string>(values: readonly [TValue, ...TValue[]]): z.ZodType<TValue[], string> =>
  z
    .string()
    .transform((text) => text.split(','))
    .pipe(z.array(z.enum(values)));

const wholeNumber = z.coerce.number().int();

/** The filters and the order of a list of rollouts. */
export interface RolloutFilter {
  readonly run?: string | undefined;
  readonly status?: readonly RolloutStatus[] | undefined;
  readonly mode?: readonly RolloutMode[] | undefined;
  /** Index of the task. */
  readonly task?: number | undefined;
  readonly step?: number | undefined;
  readonly group?: string | undefined;
  /** A part of the rollout's id. */
  readonly id?: string | undefined;
  /** Rollouts without a reward do not match a bound. */
  readonly minReward?: number | undefined;
  readonly maxReward?: number | undefined;
  readonly sort: RolloutSort;
  /** Maximum number of rollouts, 1 to 500. */
  readonly limit: number;
  /** `nextCursor` of the previous page. */
  readonly cursor?: string | undefined;
}

const rolloutParameters: z.ZodType<RolloutFilter> = z.strictObject({
  run: z.string().min(1).optional(),
  status: listOf(statuses).optional(),
  mode: listOf(modes).optional(),
  task: wholeNumber.optional(),
  step: wholeNumber.optional(),
  group: z.string().min(1).optional(),
  id: z.string().min(1).optional(),
  minReward: z.coerce.number().optional(),
  maxReward: z.coerce.number().optional(),
  sort: z.enum(sorts).default('newest'),
  limit: wholeNumber.min(1).max(500).default(100),
  cursor: z.string().optional(),
});

/**
 * Reads the parameters of a list of rollouts.
 *
 * @throws ValidationError for unknown and invalid parameters
 */
export function readRolloutFilter(query: Readonly<Record<string, string>>): RolloutFilter {
  return parse(rolloutParameters, query, 'Query');
}

/** The filters that the store applies. */
export function storeQuery(filter: RolloutFilter): RolloutQuery {
  const { run, status, mode, task, step, group, id } = filter;
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
    ...(Object.keys(metadata).length === 0 ? {} : { metadata }),
  };
}

/** Whether the filter or the order depends on rewards, which the store does not index. */
export function needsRewards({ minReward, maxReward, sort }: RolloutFilter): boolean {
  return minReward !== undefined || maxReward !== undefined || sort === 'reward-high' || sort === 'reward-low';
}

/** Position after the last rollout of a page. */
export interface PageKey {
  /** Start time in Unix milliseconds, or the reward; null for a rollout without a reward. */
  readonly value: number | null;
  /** Number of rollouts with this value on earlier pages. */
  readonly skip: number;
}

const pageKey: z.ZodType<PageKey> = z.object({ value: z.number().nullable(), skip: z.int().min(0) });

/** Encodes a position as the cursor of the next page. */
export function cursorOf(key: PageKey): string {
  return Buffer.from(JSON.stringify(key)).toString('base64url');
}

/**
 * Decodes a cursor.
 *
 * @throws ValidationError when it was not returned by this server
 */
export function keyOfCursor(cursor: string): PageKey {
  try {
    return pageKey.parse(JSON.parse(Buffer.from(cursor, 'base64url').toString()));
  } catch (cause) {
    throw new ValidationError('Query', [{ path: 'cursor', message: `not a cursor: ${cursor.slice(0, 80)}` }], cause);
  }
}
