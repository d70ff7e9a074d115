import { isLoopback } from './is-loopback.ts';

/** Headers that browsers set and web pages cannot forge; null when absent. */
export interface RequestProvenance {
  readonly host: string | null;
  readonly origin: string | null;
}

/**
 * Why a server on loopback must reject a local request: it has a foreign origin, or its host is another name that
 * resolves to loopback (DNS rebinding). The result completes a sentence, such as `the request was for
 * attacker.example`.
 *
 * @returns null when the request is admitted
 *
 * @example
 * ```ts
 * const reason = crossOriginReason({ host: headers.get('host'), origin: headers.get('origin') });
 * if (reason !== null) return new Response(reason, { status: 403 });
 * ```
 */
export function crossOriginReason({ host, origin }: RequestProvenance): string | null {
  if (host !== null && !commonHost.test(host) && !isLoopback(hostNameOf(`http://${host}`))) {
    return `the request was for ${host}`;
  }
  if (origin === null || isLoopback(hostNameOf(origin))) return null;
  return `the request came from a web page of ${origin}`;
}

/** The `Host` of almost all requests, matched without the cost of parsing a URL. */
const commonHost: RegExp = /^(?:localhost|127\.0\.0\.1)(?::\d{1,5})?$/;

/** Empty for values that are not a URL, such as the origin `null`. */
function hostNameOf(url: string): string {
  return URL.canParse(url) ? new URL(url).hostname : '';
}
