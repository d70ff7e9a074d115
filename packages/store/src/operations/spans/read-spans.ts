import type { Span } from '@agentlightning/core';
import type { SpanQuery } from '@agentlightning/core/store';
import { spanFromRow } from '../../rows/row.ts';
import type { OperationContext } from '../../sql/operation-runner.ts';
import { equals, joinFilters, type ListPage, type PageWindow, readPage } from '../../sql/page.ts';
import type { SqlCondition } from '../../sql/sql-dialect.ts';
import { withContents } from '../records/contents.ts';

/** Lists a rollout's spans, in the order of their sequence ids by default. */
export function querySpans(context: OperationContext, query: SpanQuery, window: PageWindow): Promise<ListPage<Span>> {
  return readPage(context, {
    columns: '*',
    from: 'spans',
    conditions: [...scopeOf(query), joinFilters(filtersOf(context, query), query.filterLogic)],
    sortColumns: {
      sequenceId: 'sequence_id',
      startTimeMs: 'start_time_ms',
      endTimeMs: 'end_time_ms',
      name: 'name',
      attemptId: 'attempt_id',
      traceId: 'trace_id',
      spanId: 'span_id',
      parentId: 'parent_id',
    },
    defaultSort: 'sequenceId',
    // Explicit sequence ids are not unique, and span ids are unique within an attempt only.
    tieBreaker: "(span_id || ' ' || attempt_id)",
    query,
    window,
    prepare: (rows) => withContents(context, rows, 'body'),
    toItem: spanFromRow,
  });
}

function scopeOf(query: SpanQuery): readonly SqlCondition[] {
  const ofRollout = equals('rollout_id', query.rolloutId);
  if (query.attemptId === undefined) return [ofRollout];
  if (query.attemptId !== 'latest') return [ofRollout, equals('attempt_id', query.attemptId)];
  const ofLatest = 'attempt_id = (SELECT latest_attempt_id FROM rollouts WHERE rollout_id = ?)';
  return [ofRollout, { sql: ofLatest, parameters: [query.rolloutId] }];
}

function filtersOf({ dialect }: OperationContext, query: SpanQuery): readonly SqlCondition[] {
  const filters: SqlCondition[] = [];
  if (query.traceId !== undefined) filters.push(equals('trace_id', query.traceId));
  if (query.traceIdContains !== undefined) filters.push(dialect.contains('trace_id', query.traceIdContains));
  if (query.spanId !== undefined) filters.push(equals('span_id', query.spanId));
  if (query.spanIdContains !== undefined) filters.push(dialect.contains('span_id', query.spanIdContains));
  if (query.parentId !== undefined) filters.push(equals('parent_id', query.parentId));
  if (query.parentIdContains !== undefined) filters.push(dialect.contains('parent_id', query.parentIdContains));
  if (query.name !== undefined) filters.push(equals('name', query.name));
  if (query.nameContains !== undefined) filters.push(dialect.contains('name', query.nameContains));
  return filters;
}
