import type { OperationContext } from '../../sql/operation-runner.ts';
import { allOf, equals, equalsWithoutIndex, type ListPart } from '../../sql/page.ts';
import { readInteger, readText } from '../../sql/row-value.ts';
import type { RolloutListQuery } from './rollout-list-query.ts';

/** A rollout query, partitioned by status and mode. */
export interface PartitionedRollouts {
  /** Null when the query is not partitioned. */
  readonly parts: readonly ListPart[] | null;
  /** Number of rollouts; null when they must be counted. */
  readonly total: number | null;
  /** The conditions of the query that the parts do not cover. */
  readonly rest: RolloutListQuery;
}

/** The column values of one partition; null for unconstrained columns. */
interface PartitionKey {
  readonly runId: string | null;
  readonly mode: string | null;
  readonly status: string | null;
}

/** Number of rollouts with a mode and status, of one run or of all runs. */
interface RolloutCount {
  readonly mode: string;
  readonly status: string;
  readonly rollouts: number;
}

/** Indexed sort fields by filter columns; '' is the default order. */
const indexedSortFields: Readonly<Record<string, readonly string[]>> = {
  '': ['', 'startTimeMs', 'endTimeMs', 'status', 'rolloutId', 'mode', 'resourcesId', 'reward'],
  status: ['', 'startTimeMs', 'endTimeMs', 'status', 'rolloutId', 'mode', 'resourcesId'],
  mode: ['', 'mode'],
  runId: ['', 'startTimeMs', 'endTimeMs', 'mode', 'status', 'reward'],
  'runId mode': ['', 'mode'],
  'runId status': ['', 'status'],
};

/** Query fields that keep the maintained counts valid: run, mode, status, order and page. */
const countedFields: ReadonlySet<string> = new Set<keyof RolloutListQuery>([
  'statusIn',
  'runId',
  'modeIn',
  'filterLogic',
  'sortBy',
  'sortOrder',
  'limit',
  'offset',
]);

/** Partitions a rollout query by status and mode, so that each part is read along its best index. */
export async function partitionRolloutQuery(
  context: OperationContext,
  query: RolloutListQuery,
): Promise<PartitionedRollouts> {
  const { statusIn, modeIn, runId, ...others } = query;
  const isJoinedByOr = query.filterLogic === 'or' && (query.rolloutIdIn ?? query.rolloutIdContains) !== undefined;
  if (isJoinedByOr) return { parts: null, total: null, rest: query };
  const keys = partitionKeys(query);
  const isExact = isCounted(context, query);
  // Estimates for lists by reward: without them, the rollouts of a status would all be sorted.
  const isEstimated = context.dialect.keepsCounts && query.sortBy === 'reward';
  const counts = isExact || isEstimated ? await readCounts(context, runId) : null;
  const parts = keys.map((part) => ({ part, rollouts: counts === null ? null : sumOf(counts, part) }));
  return {
    parts: parts.map(({ part, rollouts }) =>
      rollouts === null || counts === null
        ? listPart(part, 'index', query)
        : listPart(part, cheapestScan(query, part, { rollouts, all: sumOf(counts, everything) }), query),
    ),
    total: !isExact ? null : parts.reduce((sum, { rollouts }) => sum + (rollouts ?? 0), 0),
    rest: others,
  };
}

const everything: PartitionKey = { runId: null, mode: null, status: null };

function partitionKeys({ statusIn, modeIn, runId }: RolloutListQuery): readonly PartitionKey[] {
  const statuses = statusIn === undefined ? [null] : [...new Set(statusIn)];
  const modes = modeIn === undefined ? [null] : [...new Set(modeIn)];
  return statuses.flatMap((status) => modes.map((mode) => ({ runId: runId ?? null, mode, status })));
}

/** Whether the maintained counts cover a query. */
function isCounted({ dialect }: OperationContext, query: RolloutListQuery): boolean {
  return (
    dialect.keepsCounts &&
    Object.entries(query).every(([field, value]) => value === undefined || countedFields.has(field))
  );
}

/** Reads the maintained counts of a run, or of all runs, by mode and status. Requires `dialect.keepsCounts`. */
export async function readCounts(
  { db }: OperationContext,
  runId: string | undefined,
): Promise<readonly RolloutCount[]> {
  const where = runId === undefined ? allOf([]) : equals('run_id', runId);
  const rows = await db.all(
    `SELECT mode, status, sum(rollouts) AS rollouts FROM rollout_counts WHERE ${where.sql} GROUP BY mode, status`,
    where.parameters,
  );
  return rows.map((row) => ({
    mode: readText(row, 'mode'),
    status: readText(row, 'status'),
    rollouts: readInteger(row, 'rollouts'),
  }));
}

function sumOf(counts: readonly RolloutCount[], { mode, status }: PartitionKey): number {
  return counts
    .filter((count) => (mode === null || count.mode === mode) && (status === null || count.status === status))
    .reduce((sum, { rollouts }) => sum + rollouts, 0);
}

/**
 * How to find the first rollouts of a part: by its own index (`index`), by scanning the index of all rollouts in the
 * list's order until enough match (`scan`), or by sorting the whole part (`sort`).
 */
type ScanStrategy = 'index' | 'scan' | 'sort';

function cheapestScan(
  query: RolloutListQuery,
  part: PartitionKey,
  { rollouts, all }: { readonly rollouts: number; readonly all: number },
): ScanStrategy {
  const { sortBy = '', limit = -1, offset = 0 } = query;
  const columns = (['runId', 'mode', 'status'] as const).filter((column) => part[column] !== null).join(' ');
  if (indexedSortFields[columns]?.includes(sortBy)) return 'index';
  // Expected number of scanned rollouts until enough match, for uniformly distributed rollouts.
  const scanned = ((limit + offset) * all) / Math.max(1, rollouts);
  return rollouts <= scanned ? 'sort' : 'scan';
}

function listPart({ runId, mode, status }: PartitionKey, strategy: ScanStrategy, query: RolloutListQuery): ListPart {
  const isEqual = strategy === 'scan' ? equalsWithoutIndex : equals;
  const hasRunIndex = indexedSortFields['runId']?.includes(query.sortBy ?? '') === true;
  const conditions = [
    ...(runId === null ? [] : [(hasRunIndex ? equals : isEqual)('r.run_id', runId)]),
    ...(mode === null ? [] : [isEqual('r.mode', mode)]),
    ...(status === null ? [] : [isEqual('r.status', status)]),
  ];
  return { condition: allOf(conditions), isSmall: strategy === 'sort' };
}
