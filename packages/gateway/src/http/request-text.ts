import type { Context } from 'hono';
import { GatewayError } from '../gateway-error.ts';

/** The body of a request. @throws GatewayError 400 when its sender hung up before it was whole */
export async function requestText(c: Pick<Context, 'req'>): Promise<string> {
  try {
    return await c.req.text();
  } catch (error) {
    throw brokenOffRequest(error);
  }
}

/** A request broke off before its body was whole: nobody's fault but its sender's. */
export function brokenOffRequest(cause: unknown): GatewayError {
  return new GatewayError({
    code: 'VALIDATION',
    httpStatus: 400,
    type: 'invalid_request_error',
    message: 'the request broke off before its body was whole',
    remedy: 'Send it again.',
    cause,
  });
}
