import { AgentLightningError } from '@agentlightning/core';
import { SecretFields } from '@agentlightning/core/internal';
import { Hono } from 'hono';
import { type AglServer, createAglServer } from './agl-server/create-agl-server.ts';
import type { GatewayComponents } from './gateway-components.ts';
import { CallObserver } from './routes/call-observer.ts';
import type { GatewayEnv, RouteOptions } from './routes/route-options.ts';
import { addRoutes } from './routes/routes.ts';
import type { GatewayOptions } from './wire/gateway-options.ts';
import { limitedBody } from './wire/request-body.ts';

/** The routes of a gateway. */
export interface GatewayApp {
  readonly app: Hono<GatewayEnv>;
  /** The routes of Python's `agl-server`; null when they are disabled. */
  readonly aglServer: AglServer | null;
}

/** Creates the routes of a gateway. */
export function createGatewayApp(options: GatewayOptions, core: GatewayComponents): GatewayApp {
  const { clock, log, services, gate, calls, watch, metrics, access } = core;
  const maxBodyBytes = options.maxBodyBytes ?? 32 * 1024 * 1024;
  const aglServer = options.aglServer === true ? createAglServerFor(options, core) : null;
  const app = new Hono<GatewayEnv>();
  if (aglServer !== null) {
    app.use('/api/*', limitedBody(maxBodyBytes));
    app.route('/', aglServer.routes);
  }
  const routes: RouteOptions = {
    services,
    gate,
    calls,
    watch,
    metrics,
    observer: new CallObserver({ clock, log, metrics }),
    access,
    aglServer,
    log,
    forwardedNames: (options.forwardHeaders ?? []).map((name) => name.toLowerCase()),
    maxBodyBytes,
  };
  addRoutes(app, routes);
  return { app, aglServer };
}

function createAglServerFor(options: GatewayOptions, { clock, gate, access, services }: GatewayComponents): AglServer {
  if (options.apiKey && !options.adminKey) {
    throw new AgentLightningError({
      code: 'CONFIG',
      message: 'the 1.0 protocol has an `apiKey` for agents, but no `adminKey` for its trainer and controller',
      remedy: 'Set the gateway option `adminKey` (AGL_GATEWAY_ADMIN_KEY): an agent must not register model servers.',
    });
  }
  return createAglServer({
    store: options.store,
    clock,
    gate,
    upstreams: services.pool,
    callerOf: (headers) => access.callerOf(headers),
    secretFields: new SecretFields(options.secretFields),
  });
}
