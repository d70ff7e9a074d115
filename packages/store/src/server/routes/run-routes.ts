import {
  metricPointFromWire,
  metricPointToWire,
  pageToWire,
  present,
  runToWire,
  wireRunPatchSchema,
  wireRunRequestSchema,
} from '@agentlightning/core/protocol';
import type { Hono } from 'hono';
import { z } from 'zod';
import { answerJson } from '../answer.ts';
import { doOnce } from '../idempotency.ts';
import { readBody } from '../request-body.ts';
import { readParameters } from '../request-parameters.ts';
import type { StoreRouteOptions } from '../store-route.ts';

const pageSchema = z.object({ limit: z.int().optional(), offset: z.int().optional() });

/** Runs and their metrics, which the protocol of Agent Lightning 0.3 does not have. */
export function addRunRoutes(app: Hono, { store }: StoreRouteOptions): void {
  app.get('/runs', async (context) => {
    const page = present(readParameters(context, pageSchema));
    return answerJson(context, pageToWire(await store.queryRuns(page), runToWire));
  });

  app.post('/runs', async (context) => {
    const { run_id, name, config } = await readBody(context, wireRunRequestSchema);
    const created = await doOnce(context, store, (transaction) =>
      transaction.createRun({ runId: run_id, name, config }),
    );
    return answerJson(context, runToWire(created), 201);
  });

  app.get('/runs/:runId', async (context) =>
    answerJson(context, runToWire(await store.getRun(context.req.param('runId')))),
  );

  app.post('/runs/:runId', async (context) => {
    const { metrics = [], status, state } = await readBody(context, wireRunPatchSchema);
    const runId = context.req.param('runId');
    const points = metrics.map(metricPointFromWire);
    const updated = await doOnce(context, store, (transaction) =>
      transaction.updateRun(runId, present({ status, state }), points),
    );
    return answerJson(context, runToWire(updated));
  });

  app.get('/runs/:runId/metrics', async (context) => {
    const points = await store.queryMetrics(context.req.param('runId'));
    return answerJson(context, { items: points.map(metricPointToWire) });
  });
}
