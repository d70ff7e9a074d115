import type { Server } from 'node:http';
import { AgentLightningError, type Clock } from '@agentlightning/core';
import type { AttemptTokens } from '@agentlightning/core/protocol';
import { createAdaptorServer } from '@hono/node-server';
import type { SqlStore } from '../sql-store.ts';
import { assertMayListen } from './access/access-control.ts';
import { OpenConnections } from './open-connections.ts';
import { createStoreApp } from './store-app.ts';

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
  /** How long closing waits for requests under way, in milliseconds. @default 5000 */
  readonly closeTimeoutMs?: number;
  /** Told about faults of the server itself, which clients are not shown. @default nobody */
  readonly onFault?: (error: unknown) => void;
}

/** A store that listens. */
export interface StoreServer {
  /** Where it listens: `http://127.0.0.1:4747`. */
  readonly url: string;
  readonly port: number;
  /** Takes no more requests, ends waits, and lets requests under way finish. The store stays open. */
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
  const { store, apiKey = null, host = '127.0.0.1', port = 4747 } = options;
  assertMayListen(host, apiKey, await store.hasAccessKeys());
  const closing = new AbortController();
  const app = createStoreApp({
    store,
    apiKey,
    ...(options.clock === undefined ? {} : { clock: options.clock }),
    attemptTokens: options.attemptTokens ?? null,
    maxBodyBytes: options.maxBodyBytes ?? 32 * 1024 * 1024,
    heartbeatMs: options.heartbeatMs ?? 15_000,
    closing: closing.signal,
    onFault: options.onFault ?? (() => undefined),
  });
  // Without options for TLS or HTTP/2 the adaptor makes a plain HTTP server.
  const server = createAdaptorServer({ fetch: app.fetch }) as Server;
  const connections = new OpenConnections(server);
  const listeningPort = await listen(server, { host, port });
  const name = host.includes(':') ? `[${host}]` : host;
  return {
    url: `http://${name}:${listeningPort}`,
    port: listeningPort,
    close: () => {
      closing.abort();
      return connections.close(options.closeTimeoutMs ?? 5000);
    },
  };
}

function listen(server: Server, at: { readonly host: string; readonly port: number }): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => reject(listenError(cause, at)));
    server.listen(at.port, at.host, () => {
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : at.port);
    });
  });
}

function listenError(
  cause: NodeJS.ErrnoException,
  at: { readonly host: string; readonly port: number },
): AgentLightningError {
  if (cause.code === 'EADDRINUSE') {
    const message = `Port ${at.port} on ${at.host} is taken by another program`;
    return new AgentLightningError({ code: 'PORT_IN_USE', message, cause, details: { ...at } });
  }
  return new AgentLightningError({
    code: 'CONFIG',
    message: `The store cannot listen on ${at.host}:${at.port}: ${cause.message}`,
    remedy: 'Choose an address of this machine and a port you may use.',
    cause,
  });
}
