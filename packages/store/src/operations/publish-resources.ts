import type { NamedResources } from '@agentlightning/core';
import { assertId } from '@agentlightning/core/protocol';
import { newId, type ResourcesSnapshot } from '@agentlightning/core/store';
import type { OperationContext } from '../sql/operation.ts';
import { toJson } from '../sql/row-value.ts';
import { loadResources } from './records/read-resources.ts';

/** Writes the first or next version of a snapshot and makes it the latest; without an id, creates a snapshot. */
export async function publishResources(
  context: OperationContext,
  resources: NamedResources,
  resourcesId: string = newId('resources'),
): Promise<ResourcesSnapshot> {
  assertId('resourcesId', resourcesId);
  await context.db.run(
    `INSERT INTO resources (resources_id, revision, version, resources, create_time_ms, update_time_ms)
     VALUES (?, (SELECT coalesce(max(revision), 0) + 1 FROM resources), 1, ?, ?, ?)
     ON CONFLICT (resources_id) DO UPDATE SET revision = excluded.revision, version = resources.version + 1,
       resources = excluded.resources, update_time_ms = excluded.update_time_ms`,
    [resourcesId, toJson(resources, `Resources ${resourcesId}`), context.nowMs, context.nowMs],
  );
  const snapshot = await loadResources(context, resourcesId);
  context.changes.record({ kind: 'resources', resourcesId, version: snapshot.version });
  return snapshot;
}
