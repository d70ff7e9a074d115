import { AgentLightningError } from '@agentlightning/core';
import type { AttemptClaims } from '@agentlightning/core/protocol';
import type { Context } from 'hono';
import type { AccessScope } from '../../access/access-key.ts';

/** The sender of a request. */
export type Bearer =
  /** A local process, for a store without keys. */
  | { readonly kind: 'anyone' }
  | { readonly kind: 'key'; readonly keyId: string; readonly scope: AccessScope }
  /** An agent, or another program of one attempt. */
  | { readonly kind: 'agent'; readonly claims: AttemptClaims };

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
