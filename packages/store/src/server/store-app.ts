import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import { AgentLightningError, type Clock, NotFoundError } from '@agentlightning/core';
import { systemClock } from '@agentlightning/core/internal';
import {
  type AttemptTokens,
  changeCodec,
  defaultProject,
  isRewardedByEvaluator,
  operationRoutes,
  specialRoutes,
} from '@agentlightning/core/protocol';
import type { AttemptedRollout } from '@agentlightning/core/store';
import { type Context, Hono } from 'hono';
import { cors } from 'hono/cors';
import type { Registry } from 'prom-client';
import type { JournalReading } from '../changes/change-journal.ts';
import type { SqlStore } from '../sql-store.ts';
import { guardRoutes } from './access/access-control.ts';
import { agentOf } from './access/agent-limits.ts';
import { Authenticator } from './access/authenticator.ts';
import { errorResponse, unknownRouteResponse } from './error-response.ts';
import { eventStreamResponse, type ServerEvent } from './event-stream.ts';
import { idempotentRequest } from './idempotency.ts';
import { BodyBudget } from './limits/body-budget.ts';
import { limitFeedback } from './limits/feedback-limit.ts';
import { limitBody, limitRequests } from './limits/limit-requests.ts';
import { LongPollLimit } from './limits/long-poll-limit.ts';
import { noteCharge } from './limits/serving-shares.ts';
import { addLlmProxyReads } from './llm-proxy-spans.ts';
import { setRequestAttributes } from './observation/request-attributes.ts';
import { StoreMetrics } from './observation/store-metrics.ts';
import { openApiDocument } from './openapi-document.ts';
import { assertContentType, readInput } from './request-input.ts';
import {
  idsOf,
  jsonResponse,
  outputResponse,
  type RouteHandler,
  type RouteName,
  type SpecialHandlers,
  type StoreRouteOptions,
  storeRoutes,
} from './route-handler.ts';
import { listHandlers, operationHandlers, resourceHandlers } from './routes/operation-handlers.ts';
import { otlpHandlers } from './routes/otlp-handlers.ts';
import { spanHandlers } from './routes/span-handlers.ts';
import { waitHandlers } from './routes/wait-handlers.ts';

type Claimed = readonly AttemptedRollout[];

const route = specialRoutes.claimRollouts;
const feedbackHeaders = ['authorization', 'content-type'];

/** Claims rollouts, optionally as a long poll. */
function claimHandlers({
  store,
  metrics,
  waits,
  untilClosed,
}: StoreRouteOptions): Pick<SpecialHandlers, 'claimRollouts'> {
  return {
    claimRollouts: async (context) => {
      const { limit = 1, workerId = null, runId, waitMs = 0 } = await readInput(context, route);
      if (limit <= 0) return outputResponse(context, route, []);
      const idempotency = await idempotentRequest(context);
      const claim = (wait: { readonly waitMs?: number; readonly signal?: AbortSignal }): Promise<Claimed> =>
        store.claimRollouts({
          limit,
          workerId,
          ...wait,
          ...(runId ? { runId } : {}),
          ...(idempotency === undefined ? {} : { idempotency }),
        });
      // Created for waits only: the abort signal of a request costs as much as the claim.
      const claimed = waitMs > 0 ? await waiting(context, (signal) => claim({ waitMs, signal })) : await claim({});
      metrics.rolloutsClaimed(claimed.length);
      return outputResponse(context, route, claimed);
    },
  };

  async function waiting(context: Context, claim: (signal: AbortSignal) => Promise<Claimed>): Promise<Claimed> {
    setRequestAttributes(context, { isWait: true });
    const end = waits.begin('claim');
    try {
      return await claim(untilClosed(context));
    } finally {
      end();
    }
  }
}

const archiveType = 'application/gzip';

/** Exports and imports runs. Archives are streamed. */
function archiveHandlers({ store }: StoreRouteOptions): Pick<SpecialHandlers, 'exportRun' | 'importRun'> {
  return {
    exportRun: async (context) => {
      const [runId = ''] = idsOf(context, specialRoutes.exportRun);
      // An unknown run is an error, not a truncated archive.
      await store.getRun(runId);
      const archive = Readable.toWeb(Readable.from(store.exportRun(runId), { objectMode: false }));
      // Node's and the web's types of the same stream.
      return context.body(archive as unknown as globalThis.ReadableStream, 200, { 'content-type': archiveType });
    },

    importRun: async (context) => {
      assertContentType(context, archiveType);
      const body = context.req.raw.body;
      const chunks = body === null ? [] : Readable.fromWeb(body as unknown as ReadableStream);
      const run = await store.importRun(Readable.from(chunks, { objectMode: false }));
      return outputResponse(context, specialRoutes.importRun, run);
    },
  };
}

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
  // Browsers send feedback from other origins, with a key that may do nothing else.
  app.use(
    operationRoutes.recordFeedback.path,
    cors({ origin: '*', allowMethods: ['POST'], allowHeaders: feedbackHeaders }),
  );
  app.use(guardRoutes(authenticator, project));
  app.use(operationRoutes.recordFeedback.path, limitFeedback(clock));
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

/** Streams changes as server-sent events. */
function eventHandlers({
  store,
  waits,
  heartbeatMs,
  untilClosed,
}: StoreRouteOptions): Pick<SpecialHandlers, 'watchChanges'> {
  return {
    watchChanges: async (context) => {
      const watch = await readInput(context, specialRoutes.watchChanges);
      setRequestAttributes(context, { isWait: true });
      const end = waits.begin('events');
      const gone = new AbortController();
      const signal = AbortSignal.any([untilClosed(context), gone.signal]);
      const reading = { ...watch, signal, after: context.req.header('last-event-id') ?? null };
      const onEnd = (): void => {
        end();
        gone.abort();
      };
      return eventStreamResponse(context, eventsOf(reading), { heartbeatMs, onEnd });
    },
  };

  async function* eventsOf(reading: JournalReading): AsyncGenerator<ServerEvent, void, undefined> {
    for await (const { id, change } of store.readChanges(reading)) {
      yield { id, event: change.kind, data: changeCodec.encode(change) };
    }
  }
}

const { createAttemptToken, revokeAttemptToken } = specialRoutes;

/** Creates and revokes attempt tokens for agents. */
function tokenHandlers({
  project,
  store,
  attemptTokens,
}: StoreRouteOptions): Pick<SpecialHandlers, 'createAttemptToken' | 'revokeAttemptToken'> {
  return {
    createAttemptToken: async (context) => {
      const { mayReward = true, ...lifetime } = await readInput(context, createAttemptToken);
      const [rolloutId = '', attemptId = ''] = idsOf(context, createAttemptToken);
      const tokens = attemptTokens ?? noSecret();
      const rollout = await store.getRollout(rolloutId);
      const { items } = await store.queryAttempts(rolloutId);
      if (!items.some((attempt) => attempt.attemptId === attemptId)) throw new NotFoundError('Attempt', attemptId);
      const token = await tokens.create({
        project,
        rolloutId,
        attemptId,
        mayReward: mayReward && !isRewardedByEvaluator(rollout),
        ...lifetime,
      });
      return outputResponse(context, createAttemptToken, { token, ...(await tokens.verify(token)) });
    },

    revokeAttemptToken: async (context) => {
      await store.revokeAttemptToken(await readInput(context, revokeAttemptToken));
      return outputResponse(context, revokeAttemptToken, await store.revokedAttemptTokens());
    },
  };
}

function noSecret(): AttemptTokens {
  throw new AgentLightningError({
    code: 'PERMISSION_DENIED',
    message: 'This store cannot create attempt tokens: it has no signing secret',
    remedy: 'Start it with the AGL_TOKEN_SECRET of the gateway; `openssl rand -base64 32` creates one.',
  });
}
