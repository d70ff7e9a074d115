import { createHash, timingSafeEqual } from 'node:crypto';
import { AgentLightningError } from '@agentlightning/core';
import { crossOriginReason } from '@agentlightning/core/protocol';
import type { MiddlewareHandler } from 'hono';

/** Rejects requests from web pages of other origins, and requests for hosts other than loopback. */
export const rejectCrossOrigin: MiddlewareHandler = async ({ req }, next) => {
  const { host } = new URL(req.url);
  const reason = crossOriginReason({ host, origin: req.header('origin') ?? null });
  if (reason === null) return await next();
  throw new AgentLightningError({
    code: 'PERMISSION_DENIED',
    message: `The embedded runtime accepts requests of this machine only, and ${reason}`,
    remedy: 'Call it at localhost, and through the gateway from web pages.',
  });
};

/** Rejects requests without the API key. */
export function requireKey(apiKey: string): MiddlewareHandler {
  const expected = digest(`Bearer ${apiKey}`);
  return async ({ req }, next) => {
    const sent = req.header('authorization') ?? '';
    if (timingSafeEqual(digest(sent), expected)) return await next();
    throw new AgentLightningError({
      code: 'UNAUTHENTICATED',
      message: sent === '' ? 'The request has no API key' : 'The API key of the request is wrong',
      remedy: 'Send the API key of the runtime as `Authorization: Bearer <key>`.',
    });
  };
}

/** Digests have one length, so that they can be compared in constant time. */
function digest(text: string): Uint8Array {
  return createHash('sha256').update(text).digest();
}
