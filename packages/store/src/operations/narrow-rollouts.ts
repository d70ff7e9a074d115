import type { RolloutQuery } from '@agentlightning/core/store';
import type { OperationContext } from '../operation.ts';
import type { ListPart } from '../page.ts';
import { readInteger } from '../row-value.ts';
import type { IndexedFilter, IndexedPositions, SqlCondition } from '../sql-dialect.ts';
import { type DividedRollouts, divideRollouts, readCounts } from './divide-rollouts.ts';

/** A filter with how many rollouts its index has for it. */
interface CountedFilter {
  readonly filter: IndexedFilter;
  readonly positions: IndexedPositions;
  readonly count: number;
}

/** The fields of a query that do not say which rollouts it is for. */
const orderFields: ReadonlySet<string> = new Set<keyof RolloutQuery>([
  'filterLogic',
  'sortBy',
  'sortOrder',
  'limit',
  'offset',
]);

/**
 * Reads a list by a piece of the id or by metadata from the few rollouts that an index has for the rarest of these
 * filters. Null where no index helps: rollouts then come by in the list's order until enough of them are found.
 */
export async function narrowRollouts(
  context: OperationContext,
  query: RolloutQuery,
  { isFirstPage }: { readonly isFirstPage: boolean },
): Promise<DividedRollouts | null> {
  const filters = indexedFilters(context, query);
  const rarest = await rarestOf(context, filters);
  if (rarest === null) return null;
  const { filter, positions, count } = rarest;
  const isOnly = filters.length === 1 && filter.isExact && hasNoOtherFilter(query);
  const total = isOnly ? count : null;
  // The first entries of the index are only those of the first page.
  if (isOnly && isFirstPage && query.sortBy === undefined)
    return { parts: [firstOf(positions, query)], total, rest: query };
  if (await isWorthIt(context, query, count)) return { parts: [among(positions.all)], total, rest: query };
  const divided = await divideRollouts(context, query);
  return total === null ? null : { ...divided, total };
}

/** The filters that there is an index for, as far as every rollout of the list has to meet them. */
function indexedFilters({ dialect }: OperationContext, query: RolloutQuery): readonly IndexedFilter[] {
  const { metadata = {}, rolloutIdContains, statusIn, rolloutIdIn, filterLogic } = query;
  const isOptional = filterLogic === 'or' && (statusIn !== undefined || rolloutIdIn !== undefined);
  return [
    ...Object.entries(metadata).map(([name, value]) => dialect.rolloutHasField({ name, value })),
    ...(rolloutIdContains === undefined || isOptional ? [] : [dialect.rolloutIdContains(rolloutIdContains)]),
  ];
}

function hasNoOtherFilter(query: RolloutQuery): boolean {
  const given = Object.entries(query).filter(([field, value]) => value !== undefined && !orderFields.has(field));
  return given.length === 1;
}

async function rarestOf({ db }: OperationContext, filters: readonly IndexedFilter[]): Promise<CountedFilter | null> {
  let rarest: CountedFilter | null = null;
  for (const filter of filters) {
    const { positions } = filter;
    if (positions === null) continue;
    const [row] = await db.all(positions.count.sql, positions.count.parameters);
    const count = row === undefined ? 0 : readInteger(row, 'total');
    if (rarest === null || count < rarest.count) rarest = { filter, positions, count };
  }
  return rarest;
}

/** Whether looking at all rollouts that an index has costs less than looking at all until enough are found. */
async function isWorthIt(context: OperationContext, query: RolloutQuery, count: number): Promise<boolean> {
  const { limit = -1, offset = 0 } = query;
  if (limit === -1) return true;
  const all = (await readCounts(context, undefined)).reduce((sum, { rollouts }) => sum + rollouts, 0);
  return count <= ((limit + offset) * all) / Math.max(1, count);
}

function among({ sql, parameters }: SqlCondition): ListPart {
  return { condition: { sql: `r.position IN (${sql})`, parameters }, isSmall: true };
}

/** The first ones in the order in which rollouts came in, which is the order of the index. */
function firstOf(positions: IndexedPositions, { limit = -1, offset = 0, sortOrder }: RolloutQuery): ListPart {
  if (limit === -1) return among(positions.all);
  return among(positions.first(sortOrder === 'desc' ? 'DESC' : 'ASC', limit + offset));
}
