import {
  type WireWorkerQuery,
  wireWorkerHeartbeatSchema,
  wireWorkerQuerySchema,
  workerCodec,
  workerQueryFromWire,
} from '@agentlightning/core/protocol';
import type { Context, Hono } from 'hono';
import { answerJson } from '../answer.ts';
import { answerList } from '../answer-list.ts';
import { readBody, readOptionalPatch } from '../request-body.ts';
import { readParameters } from '../request-parameters.ts';
import type { StoreRouteOptions } from '../store-route.ts';

/** Workers: list, read, heartbeat. */
export function addWorkerRoutes(app: Hono, { store, onFault }: StoreRouteOptions): void {
  const list = (context: Context, wire: WireWorkerQuery): Promise<Response> =>
    answerList(context, store.streamWorkers(workerQueryFromWire(wire)), {
      toWire: (worker) => workerCodec.encode(worker),
      onFault,
    });

  app.get('/workers', (context) => list(context, readParameters(context, wireWorkerQuerySchema)));
  app.post('/workers/search', async (context) => list(context, await readBody(context, wireWorkerQuerySchema)));

  app.get('/workers/:workerId', async (context) => {
    const worker = await store.getWorker(context.req.param('workerId'));
    return answerJson(context, workerCodec.nullable().encode(worker));
  });

  app.post('/workers/:workerId', async (context) => {
    const { heartbeat_stats } = await readOptionalPatch(context, wireWorkerHeartbeatSchema, ['heartbeat_stats']);
    const worker = await store.updateWorker(context.req.param('workerId'), heartbeat_stats ?? null);
    return answerJson(context, workerCodec.encode(worker));
  });
}
