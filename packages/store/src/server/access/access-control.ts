import { AgentLightningError } from '@agentlightning/core';
import { foreignRequest, isLoopback, type RouteScope } from '@agentlightning/core/protocol';
import type { Context, MiddlewareHandler } from 'hono';
import { matchedRoutes } from 'hono/route';
import { note } from '../observation/request-notes.ts';
import { storeRoutes } from '../store-route.ts';
import { type Bearer, noteBearer } from './bearer.ts';
import type { Gatekeeper } from './gatekeeper.ts';

/** The required scopes by method and path pattern. */
const scopes = new Map(storeRoutes.map(([, { method, path, scope }]) => [`${method} ${path}`, scope]));

/** Authenticates and authorises requests, and records their senders. */
export function guardRoutes(gatekeeper: Gatekeeper): MiddlewareHandler {
  return async (context, next) => {
    const route = routeOf(context);
    note(context, { path: route === null ? null : route.slice(route.indexOf(' ') + 1) });
    const needed = route === null ? 'runner' : (scopes.get(route) ?? 'admin');
    const isOpen = !(await gatekeeper.isLocked());
    if (isOpen) assertLocalRequest(context);
    if (needed !== 'anyone') {
      const bearer = await gatekeeper.bearerOf(context.req.header('authorization'));
      note(context, { sender: senderOf(bearer) });
      assertScope(bearer, needed, route ?? context.req.path);
      noteBearer(context, bearer);
    }
    await next();
  };
}

/** The method and pattern of the route that handles a request; null when no route matches. */
export function routeOf(context: Context): string | null {
  // The first matching route handles the request.
  const route = matchedRoutes(context).find(({ method }) => method !== 'ALL');
  return route === undefined ? null : `${route.method} ${route.path}`;
}

const ranks: Readonly<Record<RouteScope, number>> = { anyone: 0, agent: 1, runner: 2, trainer: 3, admin: 4 };

/**
 * Asserts that a bearer has a scope.
 *
 * @param action - what is requested, for the error message
 * @throws AgentLightningError PERMISSION_DENIED
 */
export function assertScope(bearer: Bearer, needed: RouteScope, action: string): void {
  if (!mayCall(bearer, needed)) throw forbidden(bearer, needed, action);
}

function mayCall(bearer: Bearer, needed: RouteScope): boolean {
  if (bearer.kind === 'anyone') return true;
  return ranks[scopeOf(bearer)] >= ranks[needed];
}

function scopeOf(bearer: Exclude<Bearer, { readonly kind: 'anyone' }>): RouteScope {
  return bearer.kind === 'agent' ? 'agent' : bearer.scope;
}

/** The log name of a bearer. */
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
    remedy: `Use a key with the scope ${needed}: \`agl store keys create --scope ${needed}\` creates one.`,
    details: { scope: held, neededScope: needed },
  });
}

/** A store without a key trusts local processes, but not web pages in a local browser. */
function assertLocalRequest(context: Context): void {
  const { host } = new URL(context.req.url);
  const reason = foreignRequest({ host, origin: context.req.header('origin') ?? null });
  if (reason === null) return;
  throw new AgentLightningError({
    code: 'PERMISSION_DENIED',
    message: `A store without a key accepts local requests only, and ${reason}`,
    remedy: 'Send the request to localhost from a local origin, or start the store with a key.',
  });
}

/**
 * Rejects a non-loopback address without a key.
 *
 * @throws AgentLightningError CONFIG
 */
export function assertMayListen(host: string, apiKey: string | null, hasKeys: boolean): void {
  if (apiKey !== '' && (apiKey !== null || hasKeys || isLoopback(host))) return;
  throw new AgentLightningError({
    code: 'CONFIG',
    message: apiKey === '' ? 'The key of the store is empty' : `A store without a key may not listen on ${host}`,
    remedy: 'Set a key (AGL_STORE_KEY, or `agl store keys create`), or listen on 127.0.0.1.',
  });
}
