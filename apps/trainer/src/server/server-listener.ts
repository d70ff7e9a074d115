import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { StoreHandler } from '@agentlightning/store';
import { getRequestListener } from '@hono/node-server';

/** An HTTP application. */
export interface HttpApplication {
  fetch(request: Request, env?: object): Response | Promise<Response>;
}

/** The applications behind the one port. */
export interface ServerApplications {
  readonly server: HttpApplication;
  readonly store: Pick<StoreHandler, 'fetch' | 'observe'>;
  readonly gateway: HttpApplication;
  readonly dashboard: HttpApplication;
}

/** Paths of the store below `/v1`; the rest there are those of the gateway's model APIs. */
const storePaths = /^\/v1\/(agl|traces|metrics|logs|development|prometheus)(\/|$)/;

/** Paths of the gateway. */
const gatewayPaths = /^\/(v1|rollout|proxy|admin|health|metrics)(\/|$)/;

/** Limits of a connection. Longer headers get status 431. */
const limits = {
  keepAliveTimeout: 65_000,
  headersTimeout: 30_000,
  requestTimeout: 300_000,
  maxHeaderSize: 32 * 1024,
};

/** Creates the HTTP server of `agl server`: it selects the application by the path of a request. */
export function createServerListener(applications: ServerApplications): Server {
  const { store } = applications;
  const listener = getRequestListener(
    (request, env) => choose(request, applications).fetch(request, env),
    // The global Request and Response are not replaced.
    { overrideGlobalObjects: false },
  );
  return createServer(limits, (incoming: IncomingMessage, outgoing: ServerResponse) => {
    if (storePaths.test(pathOf(incoming.url ?? ''))) store.observe(incoming, outgoing);
    void listener(incoming, outgoing);
  });
}

function choose(request: Request, applications: ServerApplications): HttpApplication {
  const path = new URL(request.url).pathname;
  if (path === '/healthz' || path === '/v1/server' || path.startsWith('/v1/server/')) return applications.server;
  if (storePaths.test(path)) return applications.store;
  if (gatewayPaths.test(path)) return applications.gateway;
  return applications.dashboard;
}

function pathOf(url: string): string {
  const end = url.indexOf('?');
  return end < 0 ? url : url.slice(0, end);
}
