import { isLoopback } from '@agentlightning/core/protocol';
import { GatewayError } from '../gateway-error.ts';
import type { HeaderReader } from './header-reader.ts';

/**
 * What a gateway without a key answers to those who are not on its machine, though their request came from there: a web
 * page of elsewhere that is read there, also one that took a name of its own for this machine. Null for all others.
 */
export function foreignness(headers: HeaderReader): GatewayError | null {
  const host = headers.get('host');
  if (host !== null && !usualHost.test(host) && !isLoopback(nameOf(`http://${host}`))) {
    return refused(`the request was for ${host}`);
  }
  const origin = headers.get('origin');
  if (origin === null || isLoopback(nameOf(origin))) return null;
  return refused(`the request came from a web page of ${origin}`);
}

/** What nearly every caller on this machine says; to take an address apart for it would cost more than the rest. */
const usualHost: RegExp = /^(?:localhost|127\.0\.0\.1)(?::\d{1,5})?$/;

/** Empty for what is no address, such as `null`. */
function nameOf(url: string): string {
  return URL.canParse(url) ? new URL(url).hostname : '';
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
