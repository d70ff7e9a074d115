import type { MiddlewareHandler } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { GatewayError } from '../gateway-error.ts';

/** A body of known length is judged by that, and is not touched: reading it stays on the server's fast path. */
export function limitedBody(maxBytes: number): MiddlewareHandler {
  const limitUnknownLength = bodyLimit({
    maxSize: maxBytes,
    onError: () => {
      throw tooLarge(maxBytes);
    },
  });
  return async (c, next) => {
    const length = c.req.header('content-length');
    if (length === undefined) return await limitUnknownLength(c, next);
    if (Number(length) > maxBytes) throw tooLarge(maxBytes);
    return await next();
  };
}

function tooLarge(maxBytes: number): GatewayError {
  return new GatewayError({
    code: 'PAYLOAD_TOO_LARGE',
    httpStatus: 413,
    type: 'invalid_request_error',
    message: `the request body is larger than ${maxBytes} bytes`,
    remedy: 'Send less, or raise the gateway option `maxBodyBytes`.',
  });
}
