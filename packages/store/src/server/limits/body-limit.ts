import { AgentLightningError } from '@agentlightning/core';
import type { MiddlewareHandler } from 'hono';
import { bodyLimit } from 'hono/body-limit';

/** Refuses requests whose body is larger than this many bytes. */
export function limitBody(maxBodyBytes: number): MiddlewareHandler {
  const countBytes = bodyLimit({ maxSize: maxBodyBytes, onError: () => refuseBody(maxBodyBytes) });
  return async (context, next) => {
    // Where the length is told, Node holds clients to it, and the body need not pass through a stream that counts.
    if (context.req.header('transfer-encoding') !== undefined) return countBytes(context, next);
    if (Number(context.req.header('content-length') ?? 0) > maxBodyBytes) refuseBody(maxBodyBytes);
    await next();
  };
}

function refuseBody(maxBodyBytes: number): never {
  throw new AgentLightningError({
    code: 'PAYLOAD_TOO_LARGE',
    message: `The request's body is larger than ${maxBodyBytes} bytes`,
    remedy: 'Send less at a time, or start the server with a larger maxBodyBytes.',
    details: { maxBodyBytes },
  });
}
