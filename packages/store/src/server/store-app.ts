import type { Clock } from '@agentlightning/core';
import { systemClock } from '@agentlightning/core/internal';
import type { AttemptTokens } from '@agentlightning/core/protocol';
import { type Context, Hono } from 'hono';
import type { SqlStore } from '../sql-store.ts';
import { guardRoutes } from './access/access-control.ts';
import { Gatekeeper } from './access/gatekeeper.ts';
import { answerJson } from './answer.ts';
import { answerError } from './error-answer.ts';
import { limitBody } from './limits/body-limit.ts';
import { limitRequests } from './limits/limit-requests.ts';
import { OpenWaits } from './limits/open-waits.ts';
import { StoreMetrics } from './observation/store-metrics.ts';
import { addArchiveRoutes } from './routes/archive-routes.ts';
import { addAttemptRoutes } from './routes/attempt-routes.ts';
import { addDeletionRoutes } from './routes/deletion-routes.ts';
import { addEventRoutes } from './routes/event-routes.ts';
import { addMetricsRoutes } from './routes/metrics-routes.ts';
import { addOpenApiRoutes } from './routes/openapi-routes.ts';
import { addOtlpRoutes } from './routes/otlp-routes.ts';
import { addQueueRoutes } from './routes/queue-routes.ts';
import { addResourceRoutes } from './routes/resource-routes.ts';
import { addRolloutRoutes } from './routes/rollout-routes.ts';
import { addRunRoutes } from './routes/run-routes.ts';
import { addSearchRoutes } from './routes/search-routes.ts';
import { addSpanRoutes } from './routes/span-routes.ts';
import { addStatisticsRoutes } from './routes/statistics-routes.ts';
import { addTokenRoutes } from './routes/token-routes.ts';
import { addWaitRoutes } from './routes/wait-routes.ts';
import { addWorkerRoutes } from './routes/worker-routes.ts';
import type { StoreRouteOptions } from './store-route.ts';
import { answerUnknownRoute } from './unknown-route.ts';

/** The routes under `/v1/agl`, by topic. */
const protocolRoutes: readonly ((app: Hono, options: StoreRouteOptions) => void)[] = [
  addOpenApiRoutes,
  addStatisticsRoutes,
  addQueueRoutes,
  addRolloutRoutes,
  addAttemptRoutes,
  addWorkerRoutes,
  addResourceRoutes,
  addSpanRoutes,
  addWaitRoutes,
  addEventRoutes,
  addRunRoutes,
  addSearchRoutes,
  addDeletionRoutes,
  addTokenRoutes,
];

/** Dependencies and options of the application. */
export interface StoreAppOptions {
  readonly store: SqlStore;
  readonly apiKey: string | null;
  readonly attemptTokens?: AttemptTokens | null;
  readonly clock?: Clock;
  readonly waits?: OpenWaits;
  readonly metrics?: StoreMetrics;
  readonly maxBodyBytes: number;
  readonly heartbeatMs: number;
  readonly closing: AbortSignal;
  readonly onFault: (error: unknown) => void;
}

/** Default limit of concurrent long polls and event streams. */
export const defaultMaxWaits = 10_000;

/** Creates the metrics of a server. */
export function newMetrics(store: SqlStore, waits: OpenWaits): StoreMetrics {
  return new StoreMetrics({ countUnfinished: () => store.countUnfinished(), countWaits: () => waits.byKind });
}

/** Creates the HTTP application of the Agent Lightning 0.3 store protocol and its extensions. */
export function createStoreApp(options: StoreAppOptions): Hono {
  const { store, apiKey, maxBodyBytes, heartbeatMs, onFault, attemptTokens = null, clock = systemClock } = options;
  const { waits = new OpenWaits(defaultMaxWaits) } = options;
  const { metrics = newMetrics(store, waits) } = options;
  const app = new Hono();
  app.onError((error, context) => answerError(context, error, onFault));
  app.notFound((context) => answerUnknownRoute(app, context));
  app.use(limitRequests({ maxUrlLength: 8192, maxHeaders: 100 }));
  app.use(guardRoutes(new Gatekeeper({ keys: store, apiKey, attemptTokens, clock })));
  app.get('/v1/agl/health', (context) => answerJson(context, { status: 'ok' }));
  addMetricsRoutes(app, metrics);
  const untilClosed = (context: Context): AbortSignal => AbortSignal.any([context.req.raw.signal, options.closing]);
  const routes = { store, attemptTokens, metrics, waits, maxBodyBytes, heartbeatMs, onFault, untilClosed };
  addArchiveRoutes(app.basePath('/v1/agl'), routes);
  app.use(limitBody(maxBodyBytes));
  addOtlpRoutes(app.basePath('/v1'), routes);
  const protocol = app.basePath('/v1/agl');
  for (const addRoutes of protocolRoutes) addRoutes(protocol, routes);
  return app;
}
