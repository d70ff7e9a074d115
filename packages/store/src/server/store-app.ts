import { AgentLightningError, NotFoundError } from '@agentlightning/core';
import { type Context, Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import type { SqlStore } from '../sql-store.ts';
import { requireKey, requireLoopbackHost } from './access-control.ts';
import { answerJson } from './answer.ts';
import { answerError } from './error-answer.ts';
import { addAttemptRoutes } from './routes/attempt-routes.ts';
import { addOtlpRoutes } from './routes/otlp-routes.ts';
import { addQueueRoutes } from './routes/queue-routes.ts';
import { addResourceRoutes } from './routes/resource-routes.ts';
import { addRolloutRoutes } from './routes/rollout-routes.ts';
import { addRunRoutes } from './routes/run-routes.ts';
import { addSpanRoutes } from './routes/span-routes.ts';
import { addStatisticsRoutes } from './routes/statistics-routes.ts';
import { addWaitRoutes } from './routes/wait-routes.ts';
import { addWorkerRoutes } from './routes/worker-routes.ts';
import type { StoreRouteOptions } from './store-route.ts';

/** The routes below `/v1/agl`, by what they are about. */
const protocolRoutes: readonly ((app: Hono, options: StoreRouteOptions) => void)[] = [
  addStatisticsRoutes,
  addQueueRoutes,
  addRolloutRoutes,
  addAttemptRoutes,
  addWorkerRoutes,
  addResourceRoutes,
  addSpanRoutes,
  addWaitRoutes,
  addRunRoutes,
];

/** What the application is made of. */
export interface StoreAppOptions {
  readonly store: SqlStore;
  readonly apiKey: string | null;
  readonly maxBodyBytes: number;
  readonly closing: AbortSignal;
  readonly onFault: (error: unknown) => void;
}

/** The store protocol of Agent Lightning 0.3, and our additions to it, as an application of requests and answers. */
export function createStoreApp(options: StoreAppOptions): Hono {
  const { store, apiKey, maxBodyBytes, onFault } = options;
  const app = new Hono();
  app.onError((error, context) => answerError(context, error, onFault));
  app.notFound((context) =>
    answerError(context, new NotFoundError('Route', `${context.req.method} ${context.req.path}`), onFault),
  );
  if (apiKey === null) app.use(requireLoopbackHost);
  app.get('/v1/agl/health', (context) => answerJson(context, { status: 'ok' }));
  if (apiKey !== null) app.use(requireKey(apiKey));
  app.use(bodyLimit({ maxSize: maxBodyBytes, onError: () => refuseBody(maxBodyBytes) }));
  const untilClosed = (context: Context): AbortSignal => AbortSignal.any([context.req.raw.signal, options.closing]);
  const routes = { store, maxBodyBytes, onFault, untilClosed };
  addOtlpRoutes(app.basePath('/v1'), routes);
  const protocol = app.basePath('/v1/agl');
  for (const addRoutes of protocolRoutes) addRoutes(protocol, routes);
  return app;
}

function refuseBody(maxBodyBytes: number): never {
  throw new AgentLightningError({
    code: 'PAYLOAD_TOO_LARGE',
    message: `The request's body is larger than ${maxBodyBytes} bytes`,
    remedy: 'Send less at a time, or start the server with a larger maxBodyBytes.',
    details: { maxBodyBytes },
  });
}
