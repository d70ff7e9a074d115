import {
  namedResourcesFromWire,
  pageToWire,
  resourcesQueryFromWire,
  resourcesSnapshotToWire,
  wireNamedResourcesSchema,
  wireResourcesQuerySchema,
} from '@agentlightning/core/protocol';
import type { Hono } from 'hono';
import { assertOwnResources } from '../access/agent-limits.ts';
import { answerJson } from '../answer.ts';
import { doOnce } from '../idempotency.ts';
import { readBody } from '../request-body.ts';
import { readParameters } from '../request-parameters.ts';
import type { StoreRouteOptions } from '../store-route.ts';

/** Resources: add, list, read, write the next version. */
export function addResourceRoutes(app: Hono, { store }: StoreRouteOptions): void {
  app.get('/resources', async (context) => {
    const query = resourcesQueryFromWire(readParameters(context, wireResourcesQuerySchema));
    return answerJson(context, pageToWire(await store.queryResources(query), resourcesSnapshotToWire));
  });

  app.post('/resources', async (context) => {
    const resources = namedResourcesFromWire(await readBody(context, wireNamedResourcesSchema));
    const added = await doOnce(context, store, (transaction) => transaction.addResources(resources));
    return answerJson(context, resourcesSnapshotToWire(added), 201);
  });

  app.get('/resources/latest', async (context) => {
    const latest = await store.getLatestResources();
    return answerJson(context, latest === null ? null : resourcesSnapshotToWire(latest));
  });

  // As the protocol has it: what is not there is null.
  app.get('/resources/:resourcesId', async (context) => {
    const resourcesId = context.req.param('resourcesId');
    await assertOwnResources(context, store, resourcesId);
    const query = { resourcesId, limit: 1 };
    const [snapshot] = (await store.queryResources(query)).items;
    return answerJson(context, snapshot === undefined ? null : resourcesSnapshotToWire(snapshot));
  });

  app.post('/resources/:resourcesId', async (context) => {
    const resources = namedResourcesFromWire(await readBody(context, wireNamedResourcesSchema));
    const resourcesId = context.req.param('resourcesId');
    const updated = await doOnce(context, store, (transaction) => transaction.updateResources(resourcesId, resources));
    return answerJson(context, resourcesSnapshotToWire(updated));
  });
}
