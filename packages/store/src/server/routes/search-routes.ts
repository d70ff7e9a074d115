import {
  runStatisticsCodec,
  spanSearchFromWire,
  spanSearchPageToWire,
  wireSpanSearchSchema,
} from '@agentlightning/core/protocol';
import type { Hono } from 'hono';
import { answerJson } from '../answer.ts';
import { readBody } from '../request-body.ts';
import type { StoreRouteOptions } from '../store-route.ts';

/** Search across rollouts, an extension of the Agent Lightning 0.3 protocol. */
export function addSearchRoutes(app: Hono, { store }: StoreRouteOptions): void {
  app.post('/searches/spans', async (context) => {
    const search = spanSearchFromWire(await readBody(context, wireSpanSearchSchema));
    return answerJson(context, spanSearchPageToWire(await store.searchSpans(search)));
  });

  app.get('/runs/:runId/statistics', async (context) =>
    answerJson(context, runStatisticsCodec.encode(await store.runStatistics(context.req.param('runId')))),
  );
}
