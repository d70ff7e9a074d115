import { AgentLightningError } from '@agentlightning/core';
import {
  type AccessRight,
  type AccessRole,
  crossOriginReason,
  isLoopback,
  roleRights,
  rolesWith,
} from '@agentlightning/core/protocol';
import type { Context, MiddlewareHandler } from 'hono';
import { matchedRoutes } from 'hono/route';
import { setRequestAttributes } from '../observation/request-attributes.ts';
import { storeRoutes } from '../route-handler.ts';
import type { Authenticator } from './authenticator.ts';
import { assertProject, type Bearer, noteBearer } from './bearer.ts';

/** The required rights by method and path pattern. */
const rights = new Map(storeRoutes.map(([, { method, path, right }]) => [`${method} ${path}`, right]));

/** Authenticates and authorises requests to a project, and records their senders. */
export function guardRoutes(authenticator: Authenticator, project: string): MiddlewareHandler {
  return async (context, next) => {
    const route = routeOf(context);
    setRequestAttributes(context, { project, path: route === null ? null : route.slice(route.indexOf(' ') + 1) });
    const needed = route === null ? 'work:read' : (rights.get(route) ?? 'admin');
    const isOpen = !(await authenticator.isLocked());
    if (isOpen) assertLocalRequest(context);
    if (needed !== 'public') {
      const bearer = await authenticator.bearerOf(context.req.header('authorization'));
      setRequestAttributes(context, { sender: senderOf(bearer) });
      assertProject(bearer, project);
      assertRight(bearer, needed, route ?? context.req.path);
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

/**
 * Asserts that a bearer has a right.
 *
 * @param action - what is requested, for the error message
 * @throws AgentLightningError PERMISSION_DENIED
 */
export function assertRight(bearer: Bearer, needed: AccessRight, action: string): void {
  if (!mayCall(bearer, needed)) throw forbidden(bearer, needed, action);
}

function mayCall(bearer: Bearer, needed: AccessRight): boolean {
  return roleRights[roleOf(bearer)].includes(needed);
}

/** The role of a bearer. A store without keys trusts local processes. */
export function roleOf(bearer: Bearer): AccessRole {
  if (bearer.kind === 'anyone') return 'admin';
  return bearer.kind === 'agent' ? 'attempt' : bearer.role;
}

/** The log name of a bearer. */
function senderOf(bearer: Bearer): string | null {
  if (bearer.kind === 'anyone') return null;
  return bearer.kind === 'agent' ? bearer.claims.attemptId : bearer.keyId;
}

function forbidden(bearer: Bearer, needed: AccessRight, route: string): AgentLightningError {
  const role = roleOf(bearer);
  const permitted = rolesWith(needed);
  const carried =
    bearer.kind === 'agent' ? `The token of attempt ${bearer.claims.attemptId}` : `A key with the role ${role}`;
  return new AgentLightningError({
    code: 'PERMISSION_DENIED',
    message: `${carried} may not ${route}`,
    remedy: `Use a key with the role ${permitted.join(', ')}: \`agl keys create --role ${permitted.find((each) => each !== 'attempt')}\` creates one.`,
    details: { role, neededRight: needed },
  });
}

/** A store without a key trusts local processes, but not web pages in a local browser. */
function assertLocalRequest(context: Context): void {
  const { host } = new URL(context.req.url);
  const reason = crossOriginReason({ host, origin: context.req.header('origin') ?? null });
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
    remedy: 'Set a key (AGL_STORE_KEY, or `agl keys create`), or listen on 127.0.0.1.',
  });
}
