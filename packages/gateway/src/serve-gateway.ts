import { createServer, type ServerOptions } from 'node:http';
import { AgentLightningError } from '@agentlightning/core';
import { respondToWholeRequests, systemClock } from '@agentlightning/core/internal';
import {
  assertStrongKey,
  closeServer,
  crossOriginReason,
  hostAndPort,
  isLoopback,
  listen,
} from '@agentlightning/core/protocol';
import { getRequestListener } from '@hono/node-server';
import { createGateway, type Gateway } from './create-gateway.ts';
import { errorResponse } from './routes/handle-model-call.ts';
import { toResponse } from './wire/call-response.ts';
import { GatewayError } from './wire/gateway-error.ts';
import type { GatewayOptions } from './wire/gateway-options.ts';

/** Options of a gateway and its listener. */
export interface ServeGatewayOptions extends GatewayOptions {
  /** Address to listen at; an address reachable from other machines requires an `apiKey`. @default '127.0.0.1' */
  readonly host?: string;
  /** 0 for any free port. @default 0 */
  readonly port?: number;
  /** Limit for the arrival of a request, in milliseconds; then 408. @default 120000 */
  readonly arrivalTimeoutMs?: number;
}

/** Limit for connections to end when the gateway closes, in milliseconds. */
const closeGraceMs = 2000;

/** A listening gateway. */
export interface ServedGateway extends Gateway {
  /** Without `/v1`: `http://127.0.0.1:41234`. */
  readonly url: string;
  /** The port that it listens on. */
  readonly port: number;
}

/**
 * Creates a gateway and listens.
 *
 * @throws AgentLightningError PORT_IN_USE when the port is taken; CONFIG when a gateway without a key would be reachable
 * from other machines
 *
 * @example
 * ```ts
 * const gateway = await serveGateway({ store, upstream: { baseUrl: 'http://localhost:8000/v1' }, port: 4750 });
 * const baseURL = attemptBaseUrl(`${gateway.url}/v1`, attempt);
 * await gateway.close();
 * ```
 */
export async function serveGateway(options: ServeGatewayOptions): Promise<ServedGateway> {
  const host = options.host ?? '127.0.0.1';
  const isOpen = !options.apiKey && !options.adminKey && !options.attemptTokens;
  if (!isLoopback(host) && isOpen) throw keyNeeded(host);
  assertStrongKey(options.apiKey, { what: 'the gateway', host, option: 'AGL_GATEWAY_KEY' });
  assertStrongKey(options.adminKey, { what: 'the gateway', host, option: 'AGL_GATEWAY_ADMIN_KEY' });
  const gateway = createGateway(options);
  await gateway.restore();
  const fetch = (request: Request): Response | Promise<Response> => {
    const refused = isOpen ? checkSameOrigin(request.headers) : null;
    if (refused === null) return gateway.app.fetch(request);
    return toResponse(errorResponse(new URL(request.url).pathname, refused));
  };
  // The global Request and Response are not replaced: the agent may run in this process.
  const listener = getRequestListener(respondToWholeRequests(fetch), { overrideGlobalObjects: false });
  const server = createServer(connectionLimits(options.arrivalTimeoutMs ?? 120_000), (incoming, outgoing) => {
    void listener(incoming, outgoing);
  });
  const port = await listen(server, 'the gateway', { host, port: options.port ?? 0 });
  return {
    ...gateway,
    url: `http://${hostAndPort({ host, port })}`,
    port,
    close: async ({ drainMs = 0 } = {}) => {
      const hasEnded = gateway.close({ drainMs });
      // New calls get 429 with Retry-After meanwhile, rather than a refused connection.
      if (drainMs > 0) await gateway.drain(drainMs).catch(() => undefined);
      const isClosed = closeServer(server, closeGraceMs, options.clock ?? systemClock);
      await hasEnded;
      await isClosed;
    },
  };
}

/** The limits of one connection. Longer headers get status 431. */
function connectionLimits(arrivalTimeoutMs: number): ServerOptions {
  return {
    keepAliveTimeout: 65_000,
    headersTimeout: Math.min(30_000, arrivalTimeoutMs),
    requestTimeout: arrivalTimeoutMs,
    connectionsCheckingInterval: Math.min(5000, arrivalTimeoutMs / 2),
    maxHeaderSize: 32 * 1024,
  };
}

function keyNeeded(host: string): AgentLightningError {
  return new AgentLightningError({
    code: 'CONFIG',
    message: `a gateway at ${host} can be reached from other machines, and no apiKey is set`,
    remedy: 'Set an apiKey (for `agl gateway`: the variable AGL_GATEWAY_KEY), or listen at 127.0.0.1.',
  });
}

/** The error for a cross-origin request to a gateway without a key; null when the request may be admitted. */
function checkSameOrigin(headers: Headers): GatewayError | null {
  const reason = crossOriginReason({ host: headers.get('host'), origin: headers.get('origin') });
  return reason === null ? null : crossOrigin(reason);
}

function crossOrigin(what: string): GatewayError {
  return new GatewayError({
    code: 'PERMISSION_DENIED',
    httpStatus: 403,
    type: 'permission_error',
    message: `a gateway without a key accepts requests from this machine only, and ${what}`,
    remedy: 'Call it at localhost, or start it with a key.',
  });
}
