import { NotFoundError } from '@agentlightning/core';
import type { ResourcesQuery, ResourcesSnapshot } from '@agentlightning/core/store';
import { resourcesFromRow } from '../../rows/row.ts';
import type { OperationContext } from '../../sql/operation-runner.ts';
import { equals, type ListPage, type PageWindow, readPage } from '../../sql/page.ts';
import type { SqlCondition } from '../../sql/sql-dialect.ts';

/**
 * Loads a resources snapshot.
 *
 * @throws NotFoundError when it does not exist
 */
export async function loadResources(context: OperationContext, resourcesId: string): Promise<ResourcesSnapshot> {
  const found = await findResources(context, resourcesId);
  if (found === null) throw new NotFoundError('Resources', resourcesId);
  return found;
}

/** Finds a resources snapshot; null when it does not exist. */
export async function findResources(context: OperationContext, resourcesId: string): Promise<ResourcesSnapshot | null> {
  const [row] = await context.db.all('SELECT * FROM resources WHERE resources_id = ?', [resourcesId]);
  return row === undefined ? null : resourcesFromRow(row);
}

/**
 * Checks that resources exist, except for clients of the 0.3 protocol, which accepts unknown ids.
 *
 * @throws NotFoundError
 */
export async function assertResourcesExist(context: OperationContext, resourcesId: string): Promise<void> {
  if (context.isLenient !== true) await loadResources(context, resourcesId);
}

/** Finds the most recently written snapshot; null before the first. */
export async function findLatestResources(context: OperationContext): Promise<ResourcesSnapshot | null> {
  const [row] = await context.db.all('SELECT * FROM resources ORDER BY revision DESC LIMIT 1');
  return row === undefined ? null : resourcesFromRow(row);
}

/** Lists snapshots, most recently written last by default. */
export function queryResources(
  context: OperationContext,
  query: ResourcesQuery,
  window: PageWindow,
): Promise<ListPage<ResourcesSnapshot>> {
  const conditions: SqlCondition[] = [];
  if (query.resourcesId !== undefined) conditions.push(equals('resources_id', query.resourcesId));
  if (query.resourcesIdContains !== undefined) {
    conditions.push(context.dialect.contains('resources_id', query.resourcesIdContains));
  }
  return readPage(context, {
    columns: '*',
    from: 'resources',
    conditions,
    sortColumns: {
      resourcesId: 'resources_id',
      version: 'version',
      createTimeMs: 'create_time_ms',
      updateTimeMs: 'update_time_ms',
    },
    tieBreaker: 'revision',
    query,
    window,
    toItem: resourcesFromRow,
  });
}
