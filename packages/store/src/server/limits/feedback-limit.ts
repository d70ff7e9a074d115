import { AgentLightningError, type Clock } from '@agentlightning/core';
import type { Context, MiddlewareHandler } from 'hono';
import { bearerOf } from '../access/bearer.ts';
import { incomingOf } from '../observation/request-attributes.ts';

/** Maximum number of requests of one address with one restricted key in a window. */
const maxRequests = 600;
const windowMs = 60_000;

/**
 * Limits the rate of requests with keys of the role `feedback`, which users of an application can read in their browser.
 *
 * @throws AgentLightningError RESOURCE_EXHAUSTED for a request above the limit
 */
export function limitFeedback(clock: Clock): MiddlewareHandler {
  let counts = new Map<string, number>();
  let windowStartMs = clock.now();
  return async (context, next) => {
    const sender = senderOf(context);
    if (sender !== null) {
      if (clock.now() - windowStartMs >= windowMs) {
        counts = new Map();
        windowStartMs = clock.now();
      }
      const count = (counts.get(sender) ?? 0) + 1;
      counts.set(sender, count);
      if (count > maxRequests) throw tooMany();
    }
    await next();
  };
}

function senderOf(context: Context): string | null {
  const bearer = bearerOf(context);
  if (bearer.kind !== 'key' || bearer.role !== 'feedback') return null;
  return `${bearer.keyId} ${incomingOf(context)?.socket.remoteAddress ?? ''}`;
}

function tooMany(): AgentLightningError {
  return new AgentLightningError({
    code: 'RESOURCE_EXHAUSTED',
    message: `Feedback refused: more than ${maxRequests} requests a minute from this address`,
    remedy: 'Send it later, or from the server of the application with a key of the role ingest.',
  });
}
