import type { Clock } from '@agentlightning/core';
import { systemClock } from '@agentlightning/core/internal';
import { type AttemptTokens, defaultProject } from '@agentlightning/core/protocol';
import { type Context, Hono } from 'hono';
import type { Registry } from 'prom-client';
import type { SqlStore } from '../sql-store.ts';
import { guardRoutes } from './access/access-control.ts';
import { agentOf } from './access/agent-limits.ts';
import { Authenticator } from './access/authenticator.ts';
import { errorResponse, unknownRouteResponse } from './error-response.ts';
import { BodyBudget } from './limits/body-budget.ts';
import { limitBody, limitRequests } from './limits/limit-requests.ts';
import { LongPollLimit } from './limits/long-poll-limit.ts';
import { noteCharge } from './limits/serving-shares.ts';
import { addLlmProxyReads } from './llm-proxy-spans.ts';
import { StoreMetrics } from './observation/store-metrics.ts';
import { openApiDocument } from './openapi-document.ts';
import {
  jsonResponse,
  type RouteHandler,
  type RouteName,
  type SpecialHandlers,
  type StoreRouteOptions,
  storeRoutes,
} from './route-handler.ts';
import { archiveHandlers } from './routes/archive-handlers.ts';
import { claimHandlers } from './routes/claim-handlers.ts';
import { eventHandlers } from './routes/event-handlers.ts';
import { listHandlers, operationHandlers } from './routes/operation-handlers.ts';
import { otlpHandlers } from './routes/otlp-handlers.ts';
import { resourceHandlers } from './routes/resource-handlers.ts';
import { spanHandlers } from './routes/span-handlers.ts';
import { tokenHandlers } from './routes/token-handlers.ts';
import { waitHandlers } from './routes/wait-handlers.ts';

/** Dependencies and options of the application. */
export interface StoreAppOptions {
  readonly store: SqlStore;
  readonly apiKey: string | null;
  /** The project of the store. @default 'default' */
  readonly project?: string;
  readonly attemptTokens?: AttemptTokens | null;
  readonly clock?: Clock;
  /** @default one with `apiKey` and `attemptTokens` */
  readonly authenticator?: Authenticator;
  readonly waits?: LongPollLimit;
  readonly metrics?: StoreMetrics;
  /** Request bodies in memory, of all projects. @default of this application */
  readonly bodies?: BodyBudget;
  /** Receives the time for which requests keep the thread busy, in milliseconds. @default ignored */
  readonly charge?: (ms: number) => void;
  /** Whether only admins change the state of a run. @default none */
  readonly isServerRun?: StoreRouteOptions['isServerRun'];
  readonly maxBodyBytes: number;
  readonly heartbeatMs: number;
  readonly closing: AbortSignal;
  readonly onFault: (error: unknown) => void;
}

/** Default limit of concurrent long polls and event streams. */
export const defaultMaxWaits = 10_000;

/** Creates the metrics of a server. */
export function newMetrics(store: SqlStore, waits: LongPollLimit, registry?: Registry): StoreMetrics {
  const gauges = { countUnfinished: () => store.countUnfinished(), countWaits: () => waits.byKind };
  return new StoreMetrics(gauges, registry);
}

/** Creates the HTTP application of the Agent Lightning 0.3 store protocol and its extensions. */
export function createStoreApp(options: StoreAppOptions): Hono {
  const {
    store,
    apiKey,
    project = defaultProject,
    maxBodyBytes,
    heartbeatMs,
    onFault,
    attemptTokens = null,
    clock = systemClock,
  } = options;
  const { waits = new LongPollLimit(defaultMaxWaits) } = options;
  const { metrics = newMetrics(store, waits) } = options;
  const app = new Hono();
  app.onError((error, context) => errorResponse(context, error, onFault));
  app.notFound((context) => unknownRouteResponse(app, context));
  const { charge } = options;
  if (charge !== undefined) {
    app.use(async (context, next) => {
      noteCharge(context, charge);
      await next();
    });
  }
  app.use(limitRequests({ maxUrlLength: 8192, maxHeaders: 100 }));
  addLlmProxyReads(app);
  const revokedTokens = (): Promise<readonly string[]> => store.revokedAttemptTokens();
  const {
    authenticator = new Authenticator({ keys: store, revokedTokens, apiKey, workerKey: null, attemptTokens, clock }),
  } = options;
  app.use(guardRoutes(authenticator, project));
  const untilClosed = (context: Context): AbortSignal => AbortSignal.any([context.req.raw.signal, options.closing]);
  const handlers = handlersOf({
    project,
    store,
    attemptTokens,
    metrics,
    waits,
    isServerRun: options.isServerRun ?? (async () => false),
    maxBodyBytes,
    heartbeatMs,
    onFault,
    untilClosed,
  });
  const limit = limitBody({
    maxBodyBytes,
    budget: options.bodies ?? new BodyBudget(),
    senderOf: (context) => ({ project, attemptId: agentOf(context)?.attemptId ?? null }),
  });
  for (const [name, { method, path, right }] of storeRoutes) {
    // Archives are streamed, so the body limit does not apply. Public routes read no body.
    if (name === 'importRun' || right === 'public') app.on(method, path, handlers[name]);
    else app.on(method, path, limit, handlers[name]);
  }
  return app;
}

function handlersOf(options: StoreRouteOptions): Readonly<Record<RouteName, RouteHandler>> {
  const special: SpecialHandlers = {
    ...serverHandlers(options),
    ...listHandlers(options),
    ...claimHandlers(options),
    ...waitHandlers(options),
    ...eventHandlers(options),
    ...spanHandlers(options),
    ...resourceHandlers(options),
    ...tokenHandlers(options),
    ...archiveHandlers(options),
    ...otlpHandlers(options),
  };
  return { ...operationHandlers(options), ...special };
}

function serverHandlers({ metrics }: StoreRouteOptions): Pick<SpecialHandlers, 'health' | 'prometheus' | 'openApi'> {
  let document: unknown;
  return {
    health: (context) => jsonResponse(context, { status: 'ok' }),
    prometheus: async (context) => context.body(await metrics.text(), 200, { 'content-type': metrics.contentType }),
    openApi: (context) => {
      document ??= openApiDocument();
      return jsonResponse(context, document);
    },
  };
}
