import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { AgentLightningError } from '@agentlightning/core';
import { respondToWholeRequests } from '@agentlightning/core/internal';
import { errorCodec, httpStatusOf } from '@agentlightning/core/protocol';
import type { StoreHandler } from '@agentlightning/store';
import { getRequestListener } from '@hono/node-server';
import type { DashboardSessions } from './dashboard-sessions.ts';
import type { HttpApplication, ProjectApplications, ServerProjects } from './server-projects.ts';

/** Options of {@link createServerListener}. */
export interface ServerListenerOptions {
  readonly projects: Pick<ServerProjects, 'of'>;
  readonly handler: Pick<StoreHandler, 'admit' | 'observe'>;
  readonly sessions: DashboardSessions;
  readonly onFault: (error: unknown) => void;
}

/** Paths of the store below `/v1`; the rest there are those of the gateway's model APIs. */
const storePaths = /^(\/projects\/[^/]+)?\/v1\/(agl|traces|metrics|logs|development|prometheus)(\/|$)/;

/** Paths of the gateway. */
const gatewayPaths = /^\/(v1|rollout|proxy|admin|metrics)(\/|$)/;

/** The page of a project, for admins. */
const projectPage = /^\/projects\/([^/]+)\/?$/;

/** Limits of a connection. Longer headers get status 431. */
const limits = {
  keepAliveTimeout: 65_000,
  headersTimeout: 30_000,
  requestTimeout: 300_000,
  maxHeaderSize: 32 * 1024,
};

/** Creates the HTTP server of `agl server`: it selects the project by the key of a request, and the application by its path. */
export function createServerListener(options: ServerListenerOptions): Server {
  const { handler } = options;
  const listener = getRequestListener(
    respondToWholeRequests((request, env: object) => respond(request, env, options)),
    // The global Request and Response are not replaced.
    { overrideGlobalObjects: false },
  );
  return createServer(limits, (incoming: IncomingMessage, outgoing: ServerResponse) => {
    if (storePaths.test(pathOf(incoming.url ?? ''))) handler.observe(incoming, outgoing);
    void listener(incoming, outgoing);
  });
}

async function respond(given: Request, env: object, options: ServerListenerOptions): Promise<Response> {
  const { projects, handler, sessions, onFault } = options;
  try {
    const { pathname } = new URL(given.url);
    const [, selected] = projectPage.exec(pathname) ?? [];
    if (selected !== undefined && sessions.has(given)) sessions.select(given, null);
    const { project, request } = await handler.admit(sessions.withKey(given));
    if (selected !== undefined && sessions.has(given)) {
      sessions.select(given, project);
      return new Response(null, { status: 303, headers: { location: '/' } });
    }
    return await choose(new URL(request.url).pathname, await projects.of(project)).fetch(request, env);
  } catch (error) {
    const known = AgentLightningError.isInstance(error);
    if (!known) onFault(error);
    const shown = known ? error : new AgentLightningError({ code: 'INTERNAL', message: 'Internal error' });
    return Response.json(errorCodec.encode(shown), { status: httpStatusOf(shown.code) });
  }
}

function choose(path: string, applications: ProjectApplications): HttpApplication {
  const { server, store, gateway, dashboard } = applications;
  if (path === '/healthz' || path === '/health' || path === '/v1/server' || path.startsWith('/v1/server/'))
    return server;
  if (storePaths.test(path)) return store;
  return gatewayPaths.test(path) ? gateway : dashboard;
}

function pathOf(url: string): string {
  const end = url.indexOf('?');
  return end < 0 ? url : url.slice(0, end);
}
