import { headerNames, ownHeaderPrefix } from '@agentlightning/core/protocol';

/** Request headers that belong to the model APIs. */
const forwarded: readonly string[] = [
  'accept',
  'accept-language',
  'anthropic-beta',
  'anthropic-version',
  'content-type',
  'idempotency-key',
  'openai-beta',
  'traceparent',
  'tracestate',
  'user-agent',
  'x-stainless-helper-method',
  'x-stainless-lang',
  'x-stainless-package-version',
];

/** Response headers that the client receives. */
const returned: ReadonlySet<string> = new Set([
  'cache-control',
  'content-type',
  'openai-model',
  'openai-processing-ms',
  'openai-version',
  'request-id',
  'retry-after',
  'retry-after-ms',
  headerNames.policyVersion,
  'x-should-retry',
]);

/** Credentials and connection headers. */
const secrets: ReadonlySet<string> = new Set([
  'api-key',
  'authorization',
  'connection',
  'content-length',
  'cookie',
  'host',
  'proxy-authorization',
  'transfer-encoding',
  'upgrade',
  'x-api-key',
  'x-goog-api-key',
  headerNames.requestId,
]);

const returnedPrefixes: readonly string[] = ['anthropic-ratelimit-', 'x-ratelimit-'];

/**
 * The request headers for the upstream: an allow-list, so that no credential, no cookie and no header for the gateway
 * is forwarded.
 */
export function forwardedHeaders(
  headers: Headers,
  { requestId, names }: { readonly requestId: string; readonly names: readonly string[] },
): Readonly<Record<string, string>> {
  const sent: Record<string, string> = { [headerNames.requestId]: requestId };
  for (const name of [...forwarded, ...names]) {
    const value = isSecret(name) ? null : headers.get(name);
    if (value !== null) sent[name] = value;
  }
  return sent;
}

/** Credentials and headers for the gateway itself are never forwarded, even if the options name them. */
function isSecret(name: string): boolean {
  return secrets.has(name) || name.startsWith(ownHeaderPrefix);
}

/** Whether a response header of an upstream is returned to the client. Cookies and server headers are not. */
export function isReturnedHeader(name: string): boolean {
  return returned.has(name) || returnedPrefixes.some((prefix) => name.startsWith(prefix));
}
