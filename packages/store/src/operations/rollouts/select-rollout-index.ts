import type { OperationContext } from '../../sql/operation-runner.ts';
import type { ListPart } from '../../sql/page.ts';
import { readInteger } from '../../sql/row-value.ts';
import type { IndexedFilter, IndexedPositions, SqlCondition } from '../../sql/sql-dialect.ts';
import { type PartitionedRollouts, partitionRolloutQuery, readCounts } from './partition-rollout-query.ts';
import type { RolloutListQuery } from './rollout-list-query.ts';

/** A filter with the number of rollouts in its index. */
interface CountedFilter {
  readonly filter: IndexedFilter;
  readonly positions: IndexedPositions;
  readonly count: number;
}

/** Query fields that do not filter rollouts. */
const orderFields: ReadonlySet<string> = new Set<keyof RolloutListQuery>([
  'filterLogic',
  'sortBy',
  'sortOrder',
  'limit',
  'offset',
]);

/**
 * Reads a list that is filtered by words, id substring or metadata from the index of its most selective filter. Null when no
 * index helps: rollouts are then scanned in the list's order until enough match.
 */
export async function selectRolloutIndex(
  context: OperationContext,
  query: RolloutListQuery,
  { isFirstPage }: { readonly isFirstPage: boolean },
): Promise<PartitionedRollouts | null> {
  const filters = indexedFilters(context, query);
  const best = await mostSelective(context, filters);
  if (best === null) return null;
  const { filter, positions, count } = best;
  const isOnly = filters.length === 1 && filter.isExact && hasNoOtherFilter(query);
  const total = isOnly ? count : null;
  // The first index entries are the rollouts of the first page only.
  if (isOnly && isFirstPage && query.sortBy === undefined)
    return { parts: [firstOf(positions, query)], total, rest: query };
  if (await isIndexCheaper(context, query, count)) return { parts: [among(positions.all)], total, rest: query };
  const partitioned = await partitionRolloutQuery(context, query);
  return total === null ? null : { ...partitioned, total };
}

/** The indexed filters that every rollout of the list must meet. */
function indexedFilters({ dialect }: OperationContext, query: RolloutListQuery): readonly IndexedFilter[] {
  const { metadata = {}, words, rolloutIdContains, statusIn, rolloutIdIn, filterLogic } = query;
  const isOptional = filterLogic === 'or' && (statusIn !== undefined || rolloutIdIn !== undefined);
  return [
    ...Object.entries(metadata).map(([name, value]) => dialect.rolloutHasField({ name, value })),
    ...(words === undefined ? [] : [dialect.rolloutContainsWords(words)]),
    ...(rolloutIdContains === undefined || isOptional ? [] : [dialect.rolloutIdContains(rolloutIdContains)]),
  ];
}

function hasNoOtherFilter(query: RolloutListQuery): boolean {
  const given = Object.entries(query).filter(([field, value]) => value !== undefined && !orderFields.has(field));
  return given.length === 1;
}

async function mostSelective(
  { db }: OperationContext,
  filters: readonly IndexedFilter[],
): Promise<CountedFilter | null> {
  let best: CountedFilter | null = null;
  for (const filter of filters) {
    const { positions } = filter;
    if (positions === null) continue;
    const [row] = await db.all(positions.count.sql, positions.count.parameters);
    const count = row === undefined ? 0 : readInteger(row, 'total');
    if (best === null || count < best.count) best = { filter, positions, count };
  }
  return best;
}

/** Whether reading all index entries costs less than scanning rollouts until enough match. */
async function isIndexCheaper(context: OperationContext, query: RolloutListQuery, count: number): Promise<boolean> {
  const { limit = -1, offset = 0 } = query;
  if (limit === -1) return true;
  const all = (await readCounts(context, undefined)).reduce((sum, { rollouts }) => sum + rollouts, 0);
  return count <= ((limit + offset) * all) / Math.max(1, count);
}

function among({ sql, parameters }: SqlCondition): ListPart {
  return { condition: { sql: `r.position IN (${sql})`, parameters }, isSmall: true };
}

/** The first positions in the order of creation, which is the order of the index. */
function firstOf(positions: IndexedPositions, { limit = -1, offset = 0, sortOrder }: RolloutListQuery): ListPart {
  if (limit === -1) return among(positions.all);
  return among(positions.first(sortOrder === 'desc' ? 'DESC' : 'ASC', limit + offset));
}
