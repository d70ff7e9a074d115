import type { RolloutQuery } from '@agentlightning/core/store';
import type { OperationContext } from '../operation.ts';
import { allOf, equals, equalsWithoutIndex, type ListPart } from '../page.ts';
import { readInteger, readText } from '../row-value.ts';

/** How a list of rollouts is read: part by part where it asks for statuses or modes. */
export interface DividedRollouts {
  /** Null when the list is one whole. */
  readonly parts: readonly ListPart[] | null;
  /** How many rollouts there are; null when they have to be counted. */
  readonly total: number | null;
  /** What of the query the parts do not say. */
  readonly rest: RolloutQuery;
}

/** Every value that one column is asked to have; null where it is not asked for. */
interface Wanted {
  readonly runId: string | null;
  readonly mode: string | null;
  readonly status: string | null;
}

/** Rollouts that there are of a run (of any, when the list is for all runs), a mode and a status. */
interface RolloutCount {
  readonly mode: string;
  readonly status: string;
  readonly rollouts: number;
}

/** The orders that there is an index of for each way of choosing rollouts; the default order is ''. */
const indices: Readonly<Record<string, readonly string[]>> = {
  '': ['', 'startTimeMs', 'endTimeMs', 'status', 'rolloutId', 'mode', 'resourcesId'],
  status: ['', 'startTimeMs', 'endTimeMs', 'status', 'rolloutId', 'mode', 'resourcesId'],
  mode: ['', 'mode'],
  runId: ['', 'startTimeMs', 'endTimeMs', 'mode', 'status'],
  'runId mode': ['', 'mode'],
  'runId status': ['', 'status'],
};

/** The fields of a query that tell nothing but runs, modes and statuses, or nothing about which rollouts it is for. */
const countedFields: ReadonlySet<string> = new Set<keyof RolloutQuery>([
  'statusIn',
  'runId',
  'modeIn',
  'filterLogic',
  'sortBy',
  'sortOrder',
  'limit',
  'offset',
]);

/** Divides a list of rollouts by status and mode, for every part to be read along the index that suits it. */
export async function divideRollouts(context: OperationContext, query: RolloutQuery): Promise<DividedRollouts> {
  const { statusIn, modeIn, runId, ...others } = query;
  const isJoinedByOr = query.filterLogic === 'or' && (query.rolloutIdIn ?? query.rolloutIdContains) !== undefined;
  if (isJoinedByOr) return { parts: null, total: null, rest: query };
  const wanted = wantedOf(query);
  const counts = isCounted(context, query) ? await readCounts(context, runId) : null;
  const parts = wanted.map((part) => ({ part, rollouts: counts === null ? null : sumOf(counts, part) }));
  return {
    parts: parts.map(({ part, rollouts }) =>
      rollouts === null || counts === null
        ? listPart(part, 'index')
        : listPart(part, cheapestWay(query, part, { rollouts, all: sumOf(counts, everything) })),
    ),
    total: counts === null ? null : parts.reduce((sum, { rollouts }) => sum + (rollouts ?? 0), 0),
    rest: others,
  };
}

const everything: Wanted = { runId: null, mode: null, status: null };

function wantedOf({ statusIn, modeIn, runId }: RolloutQuery): readonly Wanted[] {
  const statuses = statusIn === undefined ? [null] : [...new Set(statusIn)];
  const modes = modeIn === undefined ? [null] : [...new Set(modeIn)];
  return statuses.flatMap((status) => modes.map((mode) => ({ runId: runId ?? null, mode, status })));
}

/** Whether the rollouts of a query need not be counted one by one. */
function isCounted({ dialect }: OperationContext, query: RolloutQuery): boolean {
  return (
    dialect.keepsCounts &&
    Object.entries(query).every(([field, value]) => value === undefined || countedFields.has(field))
  );
}

/** How many rollouts there are of a run, or of any, by mode and status. Only where the dialect keeps counts. */
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

function sumOf(counts: readonly RolloutCount[], { mode, status }: Wanted): number {
  return counts
    .filter((count) => (mode === null || count.mode === mode) && (status === null || count.status === status))
    .reduce((sum, { rollouts }) => sum + rollouts, 0);
}

/**
 * How to find the first rollouts of a part: along an index that is made for it, along the index of all rollouts in the
 * list's order until enough have come by, or by sorting the whole part.
 */
type Way = 'index' | 'walk' | 'sort';

function cheapestWay(
  query: RolloutQuery,
  part: Wanted,
  { rollouts, all }: { readonly rollouts: number; readonly all: number },
): Way {
  const { sortBy = '', limit = -1, offset = 0 } = query;
  const columns = (['runId', 'mode', 'status'] as const).filter((column) => part[column] !== null).join(' ');
  if (indices[columns]?.includes(sortBy)) return 'index';
  // How many rollouts come by before there are enough, if those of the part are anywhere among the others.
  const walked = ((limit + offset) * all) / Math.max(1, rollouts);
  return rollouts <= walked ? 'sort' : 'walk';
}

function listPart({ runId, mode, status }: Wanted, way: Way): ListPart {
  const isEqual = way === 'walk' ? equalsWithoutIndex : equals;
  const conditions = [
    ...(runId === null ? [] : [isEqual('r.run_id', runId)]),
    ...(mode === null ? [] : [isEqual('r.mode', mode)]),
    ...(status === null ? [] : [isEqual('r.status', status)]),
  ];
  return { condition: allOf(conditions), isSmall: way === 'sort' };
}
