import type { Server } from 'node:http';
import type { Clock } from '@agentlightning/core';
import { type AttemptTokens, hostAndPort, listen } from '@agentlightning/core/protocol';
import { createAdaptorServer } from '@hono/node-server';
import type { SqlStore } from '../sql-store.ts';
import { assertMayListen } from './access/access-control.ts';
import { OpenWaits } from './limits/open-waits.ts';
import { observeRequests, type StoreServerLog } from './observation/observe-requests.ts';
import { OpenConnections } from './open-connections.ts';
import { createStoreApp, defaultMaxWaits, newMetrics } from './store-app.ts';

/** Maximum size of the request line and headers in bytes; Node responds to larger ones with 431. */
const maxHeaderBytes = 16 * 1024;

type FetchCallback = Parameters<typeof createAdaptorServer>[0]['fetch'];

/** Options of a store server. */
export interface StoreServerOptions {
  /** The store. The caller closes it after the server. */
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
  /** The address to listen on. @default '127.0.0.1' */
  readonly host?: string;
  /** The port to listen on; 0 for any free one. @default 4747 */
  readonly port?: number;
  /** Maximum size of a request body in bytes. @default 33554432 32 MiB */
  readonly maxBodyBytes?: number;
  /** Heartbeat interval of idle event streams in milliseconds. @default 15000 */
  readonly heartbeatMs?: number;
  /** Maximum number of concurrent long polls and event streams; further ones fail with 429. @default 10000 */
  readonly maxWaits?: number;
  /** Timeout for receiving the headers of a request in milliseconds. @default 15000 */
  readonly headersTimeoutMs?: number;
  /** Timeout for receiving a whole request, including archives, in milliseconds. @default 300000 */
  readonly requestTimeoutMs?: number;
  /** How long `close` waits for active requests in milliseconds. @default 5000 */
  readonly closeTimeoutMs?: number;
  /**
   * How long `close` keeps idle connections open in milliseconds, to serve requests in transit. @default 0
   */
  readonly idleGraceMs?: number;
  /** Request and error log, for example a pino logger. @default null no log */
  readonly log?: StoreServerLog | null;
  /** Duration in milliseconds above which a request is logged as slow, except for long polls. @default 1000 */
  readonly slowRequestMs?: number;
  /** Receives internal errors, which are not exposed to clients. @default ignored */
  readonly onFault?: (error: unknown) => void;
}

/** A running store server. */
export interface StoreServer {
  /** Its base URL, such as `http://127.0.0.1:4747`. */
  readonly url: string;
  readonly port: number;
  /** Rejects new connections, ends waits and completes active requests. The store stays open. */
  close(): Promise<void>;
}

/**
 * Serves a store over HTTP, with the store protocol of Agent Lightning 0.3.
 *
 * @throws AgentLightningError PORT_IN_USE, or CONFIG for a non-loopback address without a key
 * @example
 * ```ts
 * const store = await openStore('sqlite:./run/agl.db');
 * const server = await createStoreServer({ store, port: 0 });
 * const client = new StoreClient({ baseUrl: server.url }); // from @agentlightning/core/store-client
 * ```
 */
export async function createStoreServer(options: StoreServerOptions): Promise<StoreServer> {
  const { store, apiKey = null, host = '127.0.0.1', port = 4747, log = null } = options;
  assertMayListen(host, apiKey, await store.hasAccessKeys());
  const closing = new AbortController();
  const waits = new OpenWaits(options.maxWaits ?? defaultMaxWaits);
  const metrics = newMetrics(store, waits);
  const app = createStoreApp({
    store,
    apiKey,
    ...(options.clock === undefined ? {} : { clock: options.clock }),
    attemptTokens: options.attemptTokens ?? null,
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
  const server = createServer(app.fetch, options);
  observeRequests(server, { metrics, log, slowRequestMs: options.slowRequestMs ?? 1000 });
  const connections = new OpenConnections(server);
  const listeningPort = await listen(server, 'the store', { host, port });
  return {
    url: `http://${hostAndPort({ host, port: listeningPort })}`,
    port: listeningPort,
    close: () => {
      closing.abort();
      return connections.close({
        timeoutMs: options.closeTimeoutMs ?? 5000,
        idleGraceMs: options.idleGraceMs ?? 0,
      });
    },
  };
}

function createServer(fetch: FetchCallback, options: StoreServerOptions): Server {
  const { headersTimeoutMs = 15_000, requestTimeoutMs = 300_000 } = options;
  const server = createAdaptorServer({
    fetch,
    serverOptions: {
      maxHeaderSize: maxHeaderBytes,
      headersTimeout: Math.min(headersTimeoutMs, requestTimeoutMs),
      requestTimeout: requestTimeoutMs,
      // Must not exceed the timeouts that it enforces.
      connectionsCheckingInterval: Math.min(1000, headersTimeoutMs, requestTimeoutMs),
    },
  });
  // Without TLS or HTTP/2 options the adaptor creates a plain HTTP server.
  return server as Server;
}
