import { AgentLightningError } from '@agentlightning/core';
import type { MiddlewareHandler } from 'hono';
import { bodyLimit } from 'hono/body-limit';

/** Rejects requests whose body exceeds the limit in bytes. */
export function limitBody(maxBodyBytes: number): MiddlewareHandler {
  const countBytes = bodyLimit({ maxSize: maxBodyBytes, onError: () => rejectBody(maxBodyBytes) });
  return async (context, next) => {
    // Node enforces a declared content length, so the body needs no counting stream.
    if (context.req.header('transfer-encoding') !== undefined) return countBytes(context, next);
    if (Number(context.req.header('content-length') ?? 0) > maxBodyBytes) rejectBody(maxBodyBytes);
    await next();
  };
}

function rejectBody(maxBodyBytes: number): never {
  throw new AgentLightningError({
    code: 'PAYLOAD_TOO_LARGE',
    message: `The request body exceeds ${maxBodyBytes} bytes`,
    remedy: 'Send smaller requests, or raise maxBodyBytes of the server.',
    details: { maxBodyBytes },
  });
}
