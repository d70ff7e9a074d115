import { GatewayError } from '../gateway-error.ts';
import type { HeaderReader } from './header-reader.ts';

/**
 * Refuses a body that was compressed. The model APIs do not unpack bodies either; to read one as text would only tell
 * its sender that it is no JSON.
 *
 * @throws GatewayError 415
 */
export function assertReadable(headers: HeaderReader): void {
  const encoding = headers.get('content-encoding');
  if (encoding === null || encoding === '' || encoding.toLowerCase() === 'identity') return;
  throw new GatewayError({
    code: 'VALIDATION',
    httpStatus: 415,
    type: 'invalid_request_error',
    message: `the request body is encoded as ${JSON.stringify(encoding)}, which the gateway does not unpack`,
    remedy: 'Send the JSON as it is, without `content-encoding`.',
    headers: { 'accept-encoding': 'identity' },
  });
}
