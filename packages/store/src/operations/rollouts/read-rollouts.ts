import { NotFoundError, type Rollout } from '@agentlightning/core';
import { type AttemptedRollout, type RolloutQuery, terminalRolloutStatuses } from '@agentlightning/core/store';
import { attemptedRolloutFromRow, rolloutFromRow, rolloutWithAttempt } from '../../rows/row.ts';
import type { OperationContext } from '../../sql/operation-runner.ts';
import { allOf, equals, joinFilters, type ListPage, type PageWindow, readPage } from '../../sql/page.ts';
import { readText } from '../../sql/row-value.ts';
import type { SqlCondition } from '../../sql/sql-dialect.ts';
import type { SqlRow } from '../../sql/sql-driver.ts';
import { withContents } from '../records/contents.ts';
import { findRollout } from '../records/rollout-record.ts';
import { partitionRolloutQuery } from './partition-rollout-query.ts';
import type { RolloutListQuery } from './rollout-list-query.ts';
import { selectRolloutIndex } from './select-rollout-index.ts';

/**
 * Reads a rollout, with its latest attempt if it has one.
 *
 * @throws NotFoundError when it does not exist
 */
export async function getRollout(context: OperationContext, rolloutId: string): Promise<Rollout | AttemptedRollout> {
  const rollout = await findRollout(context, rolloutId);
  if (rollout === null) throw new NotFoundError('Rollout', rolloutId);
  return rollout;
}

/** Lists rollouts, each with its latest attempt if it has one; in the order of creation by default. */
export async function queryRollouts(
  context: OperationContext,
  query: RolloutQuery,
  window: PageWindow,
): Promise<ListPage<Rollout | AttemptedRollout>> {
  return listRollouts(context, { query, window, toItem: attemptedRolloutFromRow });
}

/** How a list of rollouts is read. */
export interface RolloutListPlan<TItem> {
  readonly query: RolloutListQuery;
  readonly window: PageWindow;
  readonly toItem: (row: SqlRow) => TItem;
}

/** Lists rollouts, from rows with the columns of `rolloutWithAttempt`. */
export async function listRollouts<TItem>(
  context: OperationContext,
  { query, window, toItem }: RolloutListPlan<TItem>,
): Promise<ListPage<TItem>> {
  const { rows, after } = window;
  // The best plan of a page depends on its size.
  const ofPage = { ...query, limit: rows, offset: after === null ? (query.offset ?? 0) : 0 };
  const narrowed = await selectRolloutIndex(context, ofPage, { isFirstPage: after === null });
  const { parts, total, rest } = narrowed ?? (await partitionRolloutQuery(context, ofPage));
  return readPage(context, {
    columns: rolloutWithAttempt.columns,
    from: rolloutWithAttempt.from,
    itemsFrom: 'rollouts AS r',
    conditions: narrowed === null ? conditionsOf(context, rest, indexed) : conditionsOf(context, rest, notIndexed),
    ...(parts === null ? {} : { parts }),
    ...(total === null ? {} : { total }),
    sortColumns: {
      startTimeMs: 'r.start_time_ms',
      endTimeMs: 'r.end_time_ms',
      status: 'r.status',
      rolloutId: 'r.rollout_id',
      mode: 'r.mode',
      resourcesId: 'r.resources_id',
      reward: 'r.reward',
    },
    tieBreaker: 'r.position',
    query,
    window,
    prepare: (rows) => withContents(context, rows, 'input'),
    toItem,
  });
}

/** A column that may use an index. */
const indexed = (column: string): string => column;
/** A column that must not use an index: a better one exists. */
const notIndexed = (column: string): string => `coalesce(${column}, NULL)`;

function conditionsOf(
  { dialect }: OperationContext,
  query: RolloutListQuery,
  columnOf: (column: string) => string,
): readonly SqlCondition[] {
  const filters: SqlCondition[] = [];
  if (query.statusIn !== undefined) filters.push(dialect.isOneOf(columnOf('r.status'), query.statusIn));
  if (query.rolloutIdIn !== undefined) filters.push(dialect.isOneOf('r.rollout_id', query.rolloutIdIn));
  if (query.rolloutIdContains !== undefined) filters.push(dialect.rolloutIdContains(query.rolloutIdContains).condition);
  const conditions = [joinFilters(filters, query.filterLogic)];
  if (query.runId !== undefined) conditions.push(equals(columnOf('r.run_id'), query.runId));
  if (query.modeIn !== undefined) conditions.push(dialect.isOneOf(columnOf('r.mode'), query.modeIn));
  conditions.push(...rangeConditionsOf(query));
  if (query.words !== undefined) conditions.push(dialect.rolloutContainsWords(query.words).condition);
  if (query.label !== undefined) conditions.push(hasLabel(query.label));
  for (const [name, value] of Object.entries(query.metadata ?? {})) {
    conditions.push(dialect.rolloutHasField({ name, value }).condition);
  }
  return conditions;
}

function hasLabel(label: NonNullable<RolloutListQuery['label']>): SqlCondition {
  if (label === 'none') return { sql: 'r.label IS NULL', parameters: [] };
  return label === 'any' ? { sql: 'r.label IS NOT NULL', parameters: [] } : equals('r.label', label);
}

/** Half-open time ranges: adjacent ranges are disjoint. Ranges of rewards include both ends. */
function rangeConditionsOf(query: RolloutListQuery): readonly SqlCondition[] {
  const bounds = [
    ['r.start_time_ms >= ?', query.startTimeFromMs],
    ['r.start_time_ms < ?', query.startTimeBeforeMs],
    ['r.end_time_ms >= ?', query.endTimeFromMs],
    ['r.end_time_ms < ?', query.endTimeBeforeMs],
    ['r.reward >= ?', query.minReward],
    ['r.reward <= ?', query.maxReward],
  ] as const;
  return bounds.flatMap(([sql, bound]) => (bound === undefined ? [] : [{ sql, parameters: [bound] }]));
}

/**
 * Reads the finished ones of the rollouts, in the order of the ids.
 *
 * @throws NotFoundError when one of the rollouts does not exist
 */
export async function readFinishedRollouts(
  context: OperationContext,
  rolloutIds: readonly string[],
): Promise<readonly Rollout[]> {
  const known = context.dialect.isOneOf('rollout_id', rolloutIds);
  const isFinished = allOf([known, context.dialect.isOneOf('status', terminalRolloutStatuses)]);
  const found = await context.db.all(`SELECT * FROM rollouts WHERE ${isFinished.sql}`, isFinished.parameters);
  const rows = await withContents(context, found, 'input');
  const finished = new Map(rows.map((row) => [readText(row, 'rollout_id'), rolloutFromRow(row)]));
  if (finished.size < rolloutIds.length) await assertAllExist(context, rolloutIds, known);
  return rolloutIds.flatMap((rolloutId) => finished.get(rolloutId) ?? []);
}

async function assertAllExist(
  context: OperationContext,
  rolloutIds: readonly string[],
  known: SqlCondition,
): Promise<void> {
  const rows = await context.db.all(`SELECT rollout_id FROM rollouts WHERE ${known.sql}`, known.parameters);
  const existing = new Set(rows.map((row) => readText(row, 'rollout_id')));
  const missing = rolloutIds.find((rolloutId) => !existing.has(rolloutId));
  if (missing !== undefined) throw new NotFoundError('Rollout', missing);
}
