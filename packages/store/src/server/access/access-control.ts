import { AgentLightningError } from '@agentlightning/core';
import { foreignRequest, isLoopback } from '@agentlightning/core/protocol';
import type { Context, MiddlewareHandler } from 'hono';
import { matchedRoutes } from 'hono/route';
import { note } from '../observation/request-notes.ts';
import { type Bearer, noteBearer } from './bearer.ts';
import type { Gatekeeper } from './gatekeeper.ts';
import { type RouteScope, routeScopes } from './route-scopes.ts';

/** Lets in only requests that may do what they ask for, and notes who sent them. */
export function guardRoutes(gatekeeper: Gatekeeper): MiddlewareHandler {
  return async (context, next) => {
    const route = routeOf(context);
    note(context, { path: route === null ? null : route.slice(route.indexOf(' ') + 1) });
    const needed = route === null ? 'runner' : (routeScopes[route] ?? 'admin');
    const isOpen = !(await gatekeeper.isLocked());
    if (isOpen) assertLocalRequest(context);
    if (needed !== 'anyone') {
      const bearer = await gatekeeper.bearerOf(context.req.header('authorization'));
      note(context, { sender: senderOf(bearer) });
      if (!mayCall(bearer, needed)) throw forbidden(bearer, needed, route ?? context.req.path);
      noteBearer(context, bearer);
    }
    await next();
  };
}

/** The verb and the path of the route that answers a request, as the router has it; null when there is none. */
export function routeOf(context: Context): string | null {
  // Where several fit, the first one answers.
  const route = matchedRoutes(context).find(({ method }) => method !== 'ALL');
  return route === undefined ? null : `${route.method} ${route.path}`;
}

const ranks: Readonly<Record<RouteScope, number>> = { anyone: 0, agent: 1, runner: 2, trainer: 3, admin: 4 };

function mayCall(bearer: Bearer, needed: RouteScope): boolean {
  if (bearer.kind === 'anyone') return true;
  return ranks[scopeOf(bearer)] >= ranks[needed];
}

function scopeOf(bearer: Exclude<Bearer, { readonly kind: 'anyone' }>): RouteScope {
  return bearer.kind === 'agent' ? 'agent' : bearer.scope;
}

/** What a bearer goes by in a log. */
function senderOf(bearer: Bearer): string | null {
  if (bearer.kind === 'anyone') return null;
  return bearer.kind === 'agent' ? bearer.claims.attemptId : bearer.keyId;
}

function forbidden(bearer: Bearer, needed: RouteScope, route: string): AgentLightningError {
  const held = bearer.kind === 'anyone' ? 'anyone' : scopeOf(bearer);
  const carried =
    bearer.kind === 'agent' ? `The token of attempt ${bearer.claims.attemptId}` : `A key with the scope ${held}`;
  return new AgentLightningError({
    code: 'PERMISSION_DENIED',
    message: `${carried} may not ${route}`,
    remedy: `Use a key with the scope ${needed}: \`agl store keys create --scope ${needed}\` makes one.`,
    details: { scope: held, neededScope: needed },
  });
}

/** A store without a key trusts every process of its machine, but not the web pages that are read there. */
function assertLocalRequest(context: Context): void {
  const { host } = new URL(context.req.url);
  const reason = foreignRequest({ host, origin: context.req.header('origin') ?? null });
  if (reason === null) return;
  throw new AgentLightningError({
    code: 'PERMISSION_DENIED',
    message: `A store without a key accepts requests of its own machine only, and ${reason}`,
    remedy: 'Call it at localhost and from a page of this machine, or start it with a key.',
  });
}

/**
 * Refuses to listen to the network without a key.
 *
 * @throws AgentLightningError CONFIG
 */
export function assertMayListen(host: string, apiKey: string | null, hasKeys: boolean): void {
  if (apiKey !== '' && (apiKey !== null || hasKeys || isLoopback(host))) return;
  throw new AgentLightningError({
    code: 'CONFIG',
    message: apiKey === '' ? 'The key of the store is empty' : `A store without a key may not listen on ${host}`,
    remedy: 'Give it a key (AGL_STORE_KEY, or `agl store keys create`), or let it listen on 127.0.0.1.',
  });
}
