import { AgentLightningError, NotFoundError } from '@agentlightning/core';
import { statisticsToWire } from '@agentlightning/core/protocol';
import { type Context, Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import type { SqlStore } from '../sql-store.ts';
import { requireKey, requireLoopbackHost } from './access-control.ts';
import { answerJson } from './answer.ts';
import { answerError } from './error-answer.ts';
import { addAttemptRoutes } from './routes/attempt-routes.ts';
import { addQueueRoutes } from './routes/queue-routes.ts';
import { addResourceRoutes } from './routes/resource-routes.ts';
import { addRolloutRoutes } from './routes/rollout-routes.ts';
import { addRunRoutes } from './routes/run-routes.ts';
import { addSpanRoutes } from './routes/span-routes.ts';
import { addWaitRoutes } from './routes/wait-routes.ts';
import { addWorkerRoutes } from './routes/worker-routes.ts';

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
  const { store, apiKey, maxBodyBytes } = options;
  const app = new Hono().basePath('/v1/agl');
  app.onError((error, context) => answerError(context, error, options.onFault));
  app.notFound((context) =>
    answerError(context, new NotFoundError('Route', `${context.req.method} ${context.req.path}`), options.onFault),
  );
  if (apiKey === null) app.use(requireLoopbackHost);
  app.get('/health', (context) => answerJson(context, { status: 'ok' }));
  if (apiKey !== null) app.use(requireKey(apiKey));
  app.use(bodyLimit({ maxSize: maxBodyBytes, onError: () => refuseBody(maxBodyBytes) }));
  app.get('/statistics', async (context) => answerJson(context, statisticsToWire(await store.statistics())));
  const untilClosed = (context: Context): AbortSignal => AbortSignal.any([context.req.raw.signal, options.closing]);
  const routes = { store, untilClosed };
  addQueueRoutes(app, routes);
  addRolloutRoutes(app, routes);
  addAttemptRoutes(app, routes);
  addWorkerRoutes(app, routes);
  addResourceRoutes(app, routes);
  addSpanRoutes(app, routes);
  addWaitRoutes(app, routes);
  addRunRoutes(app, routes);
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
