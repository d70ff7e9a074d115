/** Headers that are about the connection to the gateway, or that only the gateway may see. */
const notForwarded: ReadonlySet<string> = new Set([
  'accept-encoding',
  'api-key',
  'authorization',
  'connection',
  'content-length',
  'cookie',
  'expect',
  'host',
  'keep-alive',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'x-api-key',
]);

/** The caller's headers as they go to the upstream: without its key, its cookies and what is meant for the gateway. */
export function forwardedHeaders(headers: Headers): Readonly<Record<string, string>> {
  const forwarded: Record<string, string> = {};
  for (const [name, value] of headers) {
    if (!notForwarded.has(name) && !name.startsWith('x-agl-')) forwarded[name] = value;
  }
  return forwarded;
}
