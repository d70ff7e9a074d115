import type { MiddlewareHandler } from 'hono';
import { GatewayError } from '../gateway-error.ts';
import { brokenOffRequest } from './request-text.ts';

/** A body of known length is judged by that, and is not touched: reading it stays on the server's fast path. */
export function limitedBody(maxBytes: number): MiddlewareHandler {
  return async (c, next) => {
    if (Number(c.req.header('content-length') ?? 0) > maxBytes) throw tooLarge(maxBytes);
    if (c.req.header('transfer-encoding') !== undefined) {
      const { url, method, headers, signal } = c.req.raw;
      c.req.raw = new Request(url, { method, headers, signal, body: await readLimited(c.req.raw, maxBytes) });
    }
    return await next();
  };
}

async function readLimited({ body }: Request, maxBytes: number): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const part of body ?? []) {
      length += part.length;
      if (length > maxBytes) throw tooLarge(maxBytes);
      parts.push(part);
    }
  } catch (error) {
    throw error instanceof GatewayError ? error : brokenOffRequest(error);
  }
  return Buffer.concat(parts);
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
