import { parse } from '@agentlightning/core/internal';
import { storeTimeOf } from '@agentlightning/core/protocol';
import type { Context, Hono } from 'hono';
import { z } from 'zod';
import type { StoreView } from '../../api/store-views.ts';
import type { DashboardContext } from '../dashboard-context.ts';
import { readRolloutFilter } from '../rollout-query.ts';
import { readRunFilter } from '../run-filter.ts';
import { workerList } from '../worker-list.ts';

const comparisonParameters = z.strictObject({
  runs: z
    .string()
    .transform((text) => text.split(','))
    .pipe(z.array(z.string().min(1)).max(8)),
});
const metricsParameters = z.strictObject({ points: z.coerce.number().int().min(1).max(5000).default(500) });
const detailParameters = z.strictObject({ attempt: z.string().min(1).optional() });
const attemptParameters = z.strictObject({ attempt: z.string().min(1) });

/** The JSON API without annotations. Every route reads; none writes. */
export function addApiRoutes(app: Hono, context: DashboardContext): void {
  const { store, clock, deployments, runs, tasks, rollouts, label, annotator, datasets, auditor } = context;
  app.get('/api/store', async (request) => {
    const rights = { canAnnotate: annotator !== null, hasDatasets: datasets !== null, hasAudits: auditor !== null };
    const view: StoreView = { label, ...rights, statistics: await store.statistics() };
    return request.json(view);
  });
  app.get('/api/runs', async (request) => request.json(await runs.list(readRunFilter(request.req.query()))));
  app.get('/api/comparison', async (request) =>
    request.json(await runs.compare(queryOf(request, comparisonParameters).runs)),
  );
  app.get('/api/runs/:id', async (request) => request.json(await runs.detail(request.req.param('id'))));
  app.get('/api/runs/:id/metrics', async (request) => {
    const { points } = queryOf(request, metricsParameters);
    return request.json(await runs.metrics(request.req.param('id'), points));
  });
  app.get('/api/runs/:id/tasks', async (request) => request.json(await tasks.read(request.req.param('id'))));
  app.get('/api/runs/:id/prompts', async (request) => request.json(await runs.prompts(request.req.param('id'))));
  if (auditor !== null) {
    app.get('/api/runs/:id/audit', async (request) => request.json(await auditor(request.req.param('id'))));
  }
  app.get('/api/rollouts', async (request) =>
    request.json(await rollouts.page(readRolloutFilter(request.req.query()))),
  );
  app.get('/api/rollouts/:id', async (request) => {
    const { attempt = null } = queryOf(request, detailParameters);
    return request.json(await rollouts.detail(request.req.param('id'), attempt));
  });
  app.get('/api/rollouts/:id/spans/:span', async (request) => request.json(await rollouts.span(addressOf(request))));
  app.get('/api/rollouts/:id/spans/:span/tokens', async (request) =>
    request.json(await rollouts.tokens(addressOf(request))),
  );
  app.get('/api/deployments', async (request) => request.json(await deployments.list()));
  app.get('/api/deployments/:id', async (request) => request.json(await deployments.detail(request.req.param('id'))));
  app.get('/api/workers', async (request) => {
    const { items } = await store.queryWorkers({ sortBy: 'workerId' });
    return request.json(workerList(items, storeTimeOf(items, clock.now())));
  });
}

function queryOf<TSchema extends z.ZodType>(request: Context, schema: TSchema): z.output<TSchema> {
  return parse(schema, request.req.query(), 'Query');
}

function addressOf(request: Context): { rolloutId: string; attemptId: string; spanId: string } {
  const { attempt } = queryOf(request, attemptParameters);
  return {
    rolloutId: request.req.param('id') ?? '',
    attemptId: attempt,
    spanId: request.req.param('span') ?? '',
  };
}
