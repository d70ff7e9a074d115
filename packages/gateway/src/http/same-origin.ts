import { foreignRequest } from '@agentlightning/core/protocol';
import { GatewayError } from '../gateway-error.ts';

/** The error for a cross-origin request to a gateway without a key; null when the request may be admitted. */
export function checkSameOrigin(headers: Headers): GatewayError | null {
  const reason = foreignRequest({ host: headers.get('host'), origin: headers.get('origin') });
  return reason === null ? null : refused(reason);
}

function refused(what: string): GatewayError {
  return new GatewayError({
    code: 'PERMISSION_DENIED',
    httpStatus: 403,
    type: 'permission_error',
    message: `a gateway without a key answers to this machine only, and ${what}`,
    remedy: 'Call it at localhost, or start it with a key.',
  });
}
