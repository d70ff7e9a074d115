import type { Server } from 'node:http';
import { respondToWholeRequests } from '@agentlightning/core/internal';
import { assertStrongKey, hostAndPort, listen } from '@agentlightning/core/protocol';
import { createAdaptorServer } from '@hono/node-server';
import { assertMayListen } from './access/access-control.ts';
import { OpenConnections } from './open-connections.ts';
import { createStoreHandler, type StoreHandlerOptions } from './store-handler.ts';

/** Maximum size of the request line and headers in bytes; Node responds to larger ones with 431. */
const maxHeaderBytes = 16 * 1024;

type FetchCallback = Parameters<typeof createAdaptorServer>[0]['fetch'];

/** Options of a store server. */
export interface StoreServerOptions extends StoreHandlerOptions {
  /** The address to listen on. @default '127.0.0.1' */
  readonly host?: string;
  /** The port to listen on; 0 for any free one. @default 4747 */
  readonly port?: number;
  /** Timeout for receiving the headers of a request in milliseconds. @default 15000 */
  readonly headersTimeoutMs?: number;
  /** Timeout for receiving a whole request, including archives, in milliseconds. @default 300000 */
  readonly requestTimeoutMs?: number;
  /** Grace period of active requests in `close`, in milliseconds. @default 5000 */
  readonly closeTimeoutMs?: number;
  /**
   * Grace period of idle connections in `close`, in milliseconds, for requests in transit. @default 0
   */
  readonly idleGraceMs?: number;
}

/** A running store server. */
export interface StoreServer {
  /** Its base URL, such as `http://127.0.0.1:4747`. */
  readonly url: string;
  /** The port that it listens on. */
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
  const { store, apiKey = null, host = '127.0.0.1', port = 4747 } = options;
  assertMayListen(host, apiKey, await store.hasAccessKeys());
  assertStrongKey(apiKey, { what: 'the store', host, option: 'AGL_STORE_KEY' });
  const handler = createStoreHandler(options);
  const respond = respondToWholeRequests((request, env: object) => handler.fetch(request, env));
  const server = createServer((request, env) => respond(request, env), options);
  // Prepended: the application may respond synchronously.
  server.prependListener('request', handler.observe);
  const connections = new OpenConnections(server);
  const listeningPort = await listen(server, 'the store', { host, port });
  return {
    url: `http://${hostAndPort({ host, port: listeningPort })}`,
    port: listeningPort,
    close: () => {
      handler.close();
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
