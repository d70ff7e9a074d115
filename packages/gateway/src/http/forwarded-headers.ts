import type { HeaderReader } from './header-reader.ts';

/** Headers that say what the caller wants of the model's API. */
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

/** Headers of an answer that its caller may have use for. */
const answered: ReadonlySet<string> = new Set([
  'cache-control',
  'content-type',
  'openai-model',
  'openai-processing-ms',
  'openai-version',
  'request-id',
  'retry-after',
  'retry-after-ms',
  'x-agl-policy-version',
  'x-should-retry',
]);

/** What may carry a key, and what is about the connection. */
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
  'x-request-id',
]);

const answeredPrefixes: readonly string[] = ['anthropic-ratelimit-', 'x-ratelimit-'];

/**
 * The caller's headers as they go to the upstream: only those on a list, so that no key, no cookie and nothing that is
 * meant for the gateway goes further, under whatever name.
 */
export function forwardedHeaders(
  headers: HeaderReader,
  { requestId, names }: { readonly requestId: string; readonly names: readonly string[] },
): Readonly<Record<string, string>> {
  const sent: Record<string, string> = { 'x-request-id': requestId };
  for (const name of [...forwarded, ...names]) {
    const value = isSecret(name) ? null : headers.get(name);
    if (value !== null) sent[name] = value;
  }
  return sent;
}

/** A key of the gateway's or of a vendor's, or what the gateway alone is told; these go no further, whoever lists them. */
function isSecret(name: string): boolean {
  return secrets.has(name) || name.startsWith('x-agl-');
}

/** Whether a header of an upstream's answer reaches the caller. Its cookies and what it says of its server do not. */
export function isAnsweredHeader(name: string): boolean {
  return answered.has(name) || answeredPrefixes.some((prefix) => name.startsWith(prefix));
}
