import {
  namedResourcesCodec,
  resourcesQueryFromWire,
  resourcesSnapshotCodec,
  wireResourcesQuerySchema,
} from '@agentlightning/core/protocol';
import type { Hono } from 'hono';
import { assertOwnResources } from '../access/agent-limits.ts';
import { answerJson } from '../answer.ts';
import { answerList } from '../answer-list.ts';
import { doOnce } from '../idempotency.ts';
import { readBody } from '../request-body.ts';
import { readParameters } from '../request-parameters.ts';
import type { StoreRouteOptions } from '../store-route.ts';

/** Resources: add, list, read, write the next version. */
export function addResourceRoutes(app: Hono, { store, onFault }: StoreRouteOptions): void {
  app.get('/resources', (context) => {
    const query = resourcesQueryFromWire(readParameters(context, wireResourcesQuerySchema));
    return answerList(context, store.streamResources(query), {
      toWire: (snapshot) => resourcesSnapshotCodec.encode(snapshot),
      onFault,
    });
  });

  app.post('/resources', async (context) => {
    const resources = await readBody(context, namedResourcesCodec);
    const added = await doOnce(context, store, (transaction) => transaction.addResources(resources));
    return answerJson(context, resourcesSnapshotCodec.encode(added), 201);
  });

  app.get('/resources/latest', async (context) => {
    const latest = await store.getLatestResources();
    return answerJson(context, resourcesSnapshotCodec.nullable().encode(latest));
  });

  // In the protocol, missing resources are null.
  app.get('/resources/:resourcesId', async (context) => {
    const resourcesId = context.req.param('resourcesId');
    await assertOwnResources(context, store, resourcesId);
    const query = { resourcesId, limit: 1 };
    const [snapshot] = (await store.queryResources(query)).items;
    return answerJson(context, resourcesSnapshotCodec.nullable().encode(snapshot ?? null));
  });

  app.post('/resources/:resourcesId', async (context) => {
    const resources = await readBody(context, namedResourcesCodec);
    const resourcesId = context.req.param('resourcesId');
    const updated = await doOnce(context, store, (transaction) => transaction.updateResources(resourcesId, resources));
    return answerJson(context, resourcesSnapshotCodec.encode(updated));
  });
}
