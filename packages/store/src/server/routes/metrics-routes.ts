import type { Hono } from 'hono';
import type { StoreMetrics } from '../observation/store-metrics.ts';

/** Prometheus metrics. */
export function addMetricsRoutes(app: Hono, metrics: StoreMetrics): void {
  app.get('/metrics', async (context) =>
    context.body(await metrics.text(), 200, { 'content-type': metrics.contentType }),
  );
}
