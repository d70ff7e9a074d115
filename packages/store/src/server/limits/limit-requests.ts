import type { MiddlewareHandler } from 'hono';
import { incomingOf } from '../observation/request-notes.ts';
import { RequestLimitError } from './request-limit-error.ts';

/** Limits of URLs and headers. */
export interface RequestLimits {
  /** Maximum length of path and query in characters. */
  readonly maxUrlLength: number;
  readonly maxHeaders: number;
}

/** Rejects requests with too long URLs or too many headers. */
export function limitRequests({ maxUrlLength, maxHeaders }: RequestLimits): MiddlewareHandler {
  return async (context, next) => {
    const request = incomingOf(context);
    const urlLength = (request?.url ?? context.req.url).length;
    if (urlLength > maxUrlLength) {
      throw new RequestLimitError(414, {
        message: `The request URL has ${urlLength} characters, the limit is ${maxUrlLength}`,
        remedy: 'Send lists in a request body: every list route has a POST .../search.',
      });
    }
    // Names and values alternate.
    const headers = (request?.rawHeaders.length ?? 0) / 2;
    if (headers > maxHeaders) {
      throw new RequestLimitError(431, {
        message: `The request has ${headers} headers, the limit is ${maxHeaders}`,
        remedy: 'Send fewer headers.',
      });
    }
    await next();
  };
}
