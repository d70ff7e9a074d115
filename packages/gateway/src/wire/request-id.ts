import { randomUUID } from 'node:crypto';
import { headerNames } from '@agentlightning/core/protocol';

/** The header of a request's id in responses of Anthropic's API. */
export const anthropicRequestIdHeader = 'request-id';

/** The request id that the client sent, if it is valid in logs and headers; else a new one. */
export function requestIdOf(headers: Headers): string {
  const given = headers.get(headerNames.requestId);
  return given !== null && /^[\w.:-]{1,128}$/.test(given) ? given : `req-${randomUUID()}`;
}
