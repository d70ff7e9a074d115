import { AgentLightningError } from '@agentlightning/core';
import type { AttemptClaims } from '@agentlightning/core/protocol';
import type { Context } from 'hono';
import type { AccessScope } from '../../access/access-key.ts';

/** Who sent a request. */
export type Bearer =
  /** Somebody on this machine, where the store has no keys. */
  | { readonly kind: 'anyone' }
  | { readonly kind: 'key'; readonly keyId: string; readonly scope: AccessScope }
  /** An agent, or a program that works for one attempt. */
  | { readonly kind: 'agent'; readonly claims: AttemptClaims };

const bearers = new WeakMap<Context, Bearer>();

/** Notes who sent a request. */
export function noteBearer(context: Context, bearer: Bearer): void {
  bearers.set(context, bearer);
}

/**
 * Who sent a request.
 *
 * @throws AgentLightningError UNAUTHENTICATED when nobody has looked: a route that was not guarded lets nobody in
 */
export function bearerOf(context: Context): Bearer {
  const bearer = bearers.get(context);
  if (bearer === undefined) {
    throw new AgentLightningError({ code: 'UNAUTHENTICATED', message: 'Nobody has looked at the key of the request' });
  }
  return bearer;
}
