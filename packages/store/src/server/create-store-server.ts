import type { Server } from 'node:http';
import type { Clock } from '@agentlightning/core';
import { type AttemptTokens, hostAndPort, listen } from '@agentlightning/core/protocol';
import { createAdaptorServer } from '@hono/node-server';
import type { SqlStore } from '../sql-store.ts';
import { assertMayListen } from './access/access-control.ts';
import { OpenWaits } from './limits/open-waits.ts';
import { observeRequests } from './observation/observe-requests.ts';
import type { StoreServerLog } from './observation/store-server-log.ts';
import { OpenConnections } from './open-connections.ts';
import { createStoreApp, defaultMaxWaits, newMetrics } from './store-app.ts';

/** How long the head of a request may be, its address included; Node answers longer ones with 431. */
const maxHeaderBytes = 16 * 1024;

type FetchCallback = Parameters<typeof createAdaptorServer>[0]['fetch'];

/** How to serve a store. */
export interface StoreServerOptions {
  /** The store; who opened it closes it, after the server. */
  readonly store: SqlStore;
  /**
   * A key that may do everything, beside those of `store.createAccessKey`. Without it, and without any of those, only
   * this machine may call. @default null none
   */
  readonly apiKey?: string | null;
  /** Makes and checks the tokens that agents carry; share its secret with the gateway. @default null none are made */
  readonly attemptTokens?: AttemptTokens | null;
  /** What keys expire by. @default the clock on the wall */
  readonly clock?: Clock;
  /** The address to listen on. @default '127.0.0.1' */
  readonly host?: string;
  /** The port to listen on; 0 for any free one. @default 4747 */
  readonly port?: number;
  /** The largest body of a request, in bytes. @default 33554432 32 MiB */
  readonly maxBodyBytes?: number;
  /** How often a stream of events says something while nothing happens, in milliseconds. @default 15000 */
  readonly heartbeatMs?: number;
  /** How many requests may wait for something to happen at the same time; more are answered with 429. @default 10000 */
  readonly maxWaits?: number;
  /** How long a client may take to send the head of a request, in milliseconds. @default 15000 */
  readonly headersTimeoutMs?: number;
  /** How long a client may take to send a whole request, archives included, in milliseconds. @default 300000 */
  readonly requestTimeoutMs?: number;
  /** How long closing waits for requests under way, in milliseconds. @default 5000 */
  readonly closeTimeoutMs?: number;
  /**
   * How long closing leaves connections open that have no request, in milliseconds: a request that is on its way then
   * comes in and is answered. @default 0
   */
  readonly idleGraceMs?: number;
  /** Where it tells what happens, one line for a request; a pino logger is one. @default nowhere */
  readonly log?: StoreServerLog | null;
  /** From when on a request is logged as slow, in milliseconds; those that wait for something never are. @default 1000 */
  readonly slowRequestMs?: number;
  /** Told about faults of the server itself, which clients are not shown. @default nobody */
  readonly onFault?: (error: unknown) => void;
}

/** A store that listens. */
export interface StoreServer {
  /** Where it listens: `http://127.0.0.1:4747`. */
  readonly url: string;
  readonly port: number;
  /** Takes no more connections, ends waits, and lets requests under way finish. The store stays open. */
  close(): Promise<void>;
}

/**
 * Serves a store over HTTP, with the store protocol of Agent Lightning 0.3.
 *
 * @throws AgentLightningError PORT_IN_USE, or CONFIG for an address beyond this machine without a key
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
      log?.error({ err: error }, 'fault of the server');
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
      // As often as a client may be late by.
      connectionsCheckingInterval: Math.min(1000, headersTimeoutMs, requestTimeoutMs),
    },
  });
  // Without options for TLS or HTTP/2 the adaptor makes a plain HTTP server.
  return server as Server;
}
