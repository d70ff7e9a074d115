import { getHeapStatistics } from 'node:v8';
import type { Context, MiddlewareHandler } from 'hono';
import { GatewayError } from './gateway-error.ts';

/** Memory that a call needs for each byte of its request body: its text, its parsed form, its copies and its record. */
const memoryPerByte = 16;

/** The limit of the bytes in flight: what the heap has memory for. */
export function maxBytesInFlight(heapBytes: number = getHeapStatistics().heap_size_limit): number {
  return Math.floor(heapBytes / memoryPerByte);
}

/**
 * Rejects bodies above a limit. A body of known length is checked by its header and stays on the server's fast path; others
 * are read here, before the call can be admitted by its size.
 *
 * @param maxReadingBytes - limit of all bodies of unknown length that are being read
 */
export function limitedBody(maxBytes: number, maxReadingBytes: number = maxBytesInFlight()): MiddlewareHandler {
  const reading = { bytes: 0, maxBytes: maxReadingBytes };
  return async (c, next) => {
    if (Number(c.req.header('content-length') ?? 0) > maxBytes) throw tooLarge(maxBytes);
    if (c.req.header('transfer-encoding') !== undefined) {
      const { url, method, signal } = c.req.raw;
      const body = await readLimited(c.req.raw, maxBytes, reading);
      const headers = new Headers(c.req.raw.headers);
      headers.delete('transfer-encoding');
      headers.set('content-length', String(body.byteLength));
      c.req.raw = new Request(url, { method, headers, signal, body });
    }
    return await next();
  };
}

/** The size of a request body: {@link limitedBody} replaces those of unknown length. */
export function bodyBytes({ headers }: Request): number {
  return Number(headers.get('content-length') ?? 0);
}

/** The body of a request. @throws GatewayError 400 when the connection closed before the end of the body */
export async function requestText(c: Pick<Context, 'req'>): Promise<string> {
  try {
    return await c.req.text();
  } catch (error) {
    throw incompleteBody(error);
  }
}

/**
 * Rejects a compressed body, as the model APIs do: parsed as text, it would only be reported as invalid JSON.
 *
 * @throws GatewayError 415
 */
export function assertNotEncoded(headers: Headers): void {
  const encoding = headers.get('content-encoding');
  if (encoding === null || encoding === '' || encoding.toLowerCase() === 'identity') return;
  throw new GatewayError({
    code: 'VALIDATION',
    httpStatus: 415,
    type: 'invalid_request_error',
    message: `the content encoding ${JSON.stringify(encoding)} of the request body is not supported`,
    remedy: 'Send uncompressed JSON, without `content-encoding`.',
    headers: { 'accept-encoding': 'identity' },
  });
}

async function readLimited(
  { body }: Request,
  maxBytes: number,
  reading: { bytes: number; readonly maxBytes: number },
): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const chunk of body ?? []) {
      length += chunk.length;
      reading.bytes += chunk.length;
      if (length > maxBytes) throw tooLarge(maxBytes);
      if (reading.bytes > Math.max(reading.maxBytes, length)) throw tooManyBytes(reading.maxBytes);
      chunks.push(chunk);
    }
  } catch (error) {
    throw error instanceof GatewayError ? error : incompleteBody(error);
  } finally {
    reading.bytes -= length;
  }
  return Buffer.concat(chunks);
}

function incompleteBody(cause: unknown): GatewayError {
  return new GatewayError({
    code: 'VALIDATION',
    httpStatus: 400,
    type: 'invalid_request_error',
    message: 'the connection closed before the end of the request body',
    remedy: 'Retry.',
    cause,
  });
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

function tooManyBytes(maxBytes: number): GatewayError {
  return new GatewayError({
    code: 'RESOURCE_EXHAUSTED',
    httpStatus: 429,
    type: 'rate_limit_error',
    message: `the request bodies that are being received would be larger than ${maxBytes} bytes`,
    remedy: 'Try again in a second, or start the gateway with a larger heap (--max-old-space-size).',
    headers: { 'retry-after': '1' },
  });
}
