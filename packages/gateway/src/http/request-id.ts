import { randomUUID } from 'node:crypto';
import type { HeaderReader } from './header-reader.ts';

/** Where the id of a request travels, in requests and answers. */
export const requestIdHeader = 'x-request-id';

/** The same in the answers of Anthropic's API, where its clients look for it. */
export const anthropicRequestIdHeader = 'request-id';

/** The caller's own id of its request, when it is fit for logs and headers; else a new one. */
export function requestIdOf(headers: HeaderReader): string {
  const given = headers.get(requestIdHeader);
  return given !== null && /^[\w.:-]{1,128}$/.test(given) ? given : `req-${randomUUID()}`;
}
