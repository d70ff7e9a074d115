import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '@agentlightning/core';
import { systemClock } from '@agentlightning/core/internal';
import type { AttemptTokens, RouteScope } from '@agentlightning/core/protocol';
import type { SqlStore } from '../sql-store.ts';
import { assertScope } from './access/access-control.ts';
import { Gatekeeper } from './access/gatekeeper.ts';
import { OpenWaits } from './limits/open-waits.ts';
import { observeRequest, type StoreServerLog } from './observation/observe-requests.ts';
import { createStoreApp, defaultMaxWaits, newMetrics } from './store-app.ts';

/** Options of a store's HTTP application. */
export interface StoreHandlerOptions {
  /** The store. The caller closes it after the application. */
  readonly store: SqlStore;
  /**
   * An admin key in addition to those of `store.createAccessKey`. Without any key, only local requests are accepted.
   * @default null none
   */
  readonly apiKey?: string | null;
  /**
   * Signs and verifies attempt tokens; its secret is shared with the gateway. @default null attempt tokens are disabled
   */
  readonly attemptTokens?: AttemptTokens | null;
  /** Clock for the expiry of keys. @default the system clock */
  readonly clock?: Clock;
  /** Maximum size of a request body in bytes. @default 33554432 32 MiB */
  readonly maxBodyBytes?: number;
  /** Heartbeat interval of idle event streams in milliseconds. @default 15000 */
  readonly heartbeatMs?: number;
  /** Maximum number of concurrent long polls and event streams; further ones fail with 429. @default 10000 */
  readonly maxWaits?: number;
  /** Request and error log, for example a pino logger. @default null no log */
  readonly log?: StoreServerLog | null;
  /** Duration in milliseconds above which a request is logged as slow, except for long polls. @default 1000 */
  readonly slowRequestMs?: number;
  /** Receives internal errors, which are not exposed to clients. @default ignored */
  readonly onFault?: (error: unknown) => void;
}

/** The HTTP application of a store, to be served, or mounted in a server. */
export interface StoreHandler {
  /** Handles a request; `env` has Node's request and response where there are some. */
  fetch(request: Request, env?: object): Response | Promise<Response>;
  /** Assigns an id to a request of Node, and reports its outcome to metrics and log. Call it before `fetch`. */
  observe(request: IncomingMessage, response: ServerResponse): void;
  /**
   * Authorises a request of another application on the same server, with the keys of this store.
   *
   * @param authorization - the `Authorization` header
   * @param needed - the required scope
   * @param action - what is requested, for the error message
   * @throws AgentLightningError UNAUTHENTICATED, or PERMISSION_DENIED for a key with a lower scope
   */
  authorize(authorization: string | undefined, needed: RouteScope, action: string): Promise<void>;
  /** Ends long polls and event streams. */
  close(): void;
}

/**
 * Creates the HTTP application of a store, with the store protocol of Agent Lightning 0.3, without a listener.
 *
 * @example
 * ```ts
 * const handler = createStoreHandler({ store, apiKey });
 * const response = await handler.fetch(new Request('http://localhost/v1/agl/health'));
 * ```
 */
export function createStoreHandler(options: StoreHandlerOptions): StoreHandler {
  const { store, apiKey = null, attemptTokens = null, clock = systemClock, log = null } = options;
  const closing = new AbortController();
  const waits = new OpenWaits(options.maxWaits ?? defaultMaxWaits);
  const metrics = newMetrics(store, waits);
  const gatekeeper = new Gatekeeper({ keys: store, apiKey, attemptTokens, clock });
  const app = createStoreApp({
    store,
    apiKey,
    attemptTokens,
    gatekeeper,
    maxBodyBytes: options.maxBodyBytes ?? 32 * 1024 * 1024,
    heartbeatMs: options.heartbeatMs ?? 15_000,
    closing: closing.signal,
    onFault: (error) => {
      log?.error({ err: error }, 'internal error');
      options.onFault?.(error);
    },
    waits,
    metrics,
  });
  const observers = { metrics, log, slowRequestMs: options.slowRequestMs ?? 1000 };
  return {
    fetch: (request, env) => app.fetch(request, env),
    observe: (request, response) => observeRequest(request, response, observers),
    authorize: async (authorization, needed, action) =>
      assertScope(await gatekeeper.bearerOf(authorization), needed, action),
    close: () => closing.abort(),
  };
}
