import { AgentLightningError, NotFoundError } from '@agentlightning/core';
import type { AttemptClaims } from '@agentlightning/core/protocol';
import type { Context } from 'hono';
import type { KeyRole } from '../../access/access-key.ts';

/** The sender of a request. */
export type Bearer =
  /** A local process, for a store without keys. */
  | { readonly kind: 'anyone' }
  | { readonly kind: 'key'; readonly keyId: string; readonly role: KeyRole; readonly project: string | null }
  /** An agent, or another program of one attempt. */
  | { readonly kind: 'agent'; readonly claims: AttemptClaims };

/** The project of a bearer; null for all of them. */
export function projectOf(bearer: Bearer): string | null {
  if (bearer.kind === 'anyone') return null;
  return bearer.kind === 'key' ? bearer.project : bearer.claims.project;
}

/**
 * Restricts a bearer to its project. Another project does not exist for it.
 *
 * @throws NotFoundError
 */
export function assertProject(bearer: Bearer, project: string): void {
  if ((projectOf(bearer) ?? project) !== project) throw new NotFoundError('Project', project);
}

const bearers = new WeakMap<Context, Bearer>();

/** Records the sender of a request. */
export function noteBearer(context: Context, bearer: Bearer): void {
  bearers.set(context, bearer);
}

/**
 * The sender of a request.
 *
 * @throws AgentLightningError UNAUTHENTICATED when the request was not authenticated: unguarded routes reject all
 * requests
 */
export function bearerOf(context: Context): Bearer {
  const bearer = bearers.get(context);
  if (bearer === undefined) {
    throw new AgentLightningError({ code: 'UNAUTHENTICATED', message: 'The request was not authenticated' });
  }
  return bearer;
}
