import { metricPointCodec, present, runCodec, runRequestCodec, runUpdateCodec } from '@agentlightning/core/protocol';
import type { Hono } from 'hono';
import { z } from 'zod';
import { answerJson } from '../answer.ts';
import { answerList } from '../answer-list.ts';
import { doOnce } from '../idempotency.ts';
import { readBody } from '../request-body.ts';
import { readParameters } from '../request-parameters.ts';
import type { StoreRouteOptions } from '../store-route.ts';

const pageSchema = z.object({ limit: z.int().optional(), offset: z.int().optional() });

/** Runs and their metrics, an extension of the Agent Lightning 0.3 protocol. */
export function addRunRoutes(app: Hono, { store, onFault }: StoreRouteOptions): void {
  app.get('/runs', (context) => {
    const page = present(readParameters(context, pageSchema));
    return answerList(context, store.streamRuns(page), { toWire: (run) => runCodec.encode(run), onFault });
  });

  app.post('/runs', async (context) => {
    const run = await readBody(context, runRequestCodec);
    const created = await doOnce(context, store, (transaction) => transaction.createRun(run));
    return answerJson(context, runCodec.encode(created), 201);
  });

  app.get('/runs/:runId', async (context) =>
    answerJson(context, runCodec.encode(await store.getRun(context.req.param('runId')))),
  );

  app.post('/runs/:runId', async (context) => {
    const { patch, metrics } = await readBody(context, runUpdateCodec);
    const runId = context.req.param('runId');
    const updated = await doOnce(context, store, (transaction) => transaction.updateRun(runId, patch, metrics));
    return answerJson(context, runCodec.encode(updated));
  });

  app.get('/runs/:runId/metrics', async (context) => {
    const points = await store.queryMetrics(context.req.param('runId'));
    return answerJson(context, { items: z.array(metricPointCodec).encode([...points]) });
  });
}
