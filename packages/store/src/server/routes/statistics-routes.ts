import { statisticsCodec } from '@agentlightning/core/protocol';
import type { Hono } from 'hono';
import { answerJson } from '../answer.ts';
import type { StoreRouteOptions } from '../store-route.ts';

/** Row counts. */
export function addStatisticsRoutes(app: Hono, { store }: StoreRouteOptions): void {
  app.get('/statistics', async (context) => answerJson(context, statisticsCodec.encode(await store.statistics())));
}
