import type { MiddlewareHandler } from 'hono';
import { incomingOf } from '../observation/request-notes.ts';
import { RequestLimitError } from './request-limit-error.ts';

/** How large a request may be before its body. */
export interface RequestLimits {
  /** How long its path and parameters may be, in characters. */
  readonly maxUrlLength: number;
  readonly maxHeaders: number;
}

/** Refuses requests with a longer address or more headers than anybody needs. */
export function limitRequests({ maxUrlLength, maxHeaders }: RequestLimits): MiddlewareHandler {
  return async (context, next) => {
    const request = incomingOf(context);
    const urlLength = (request?.url ?? context.req.url).length;
    if (urlLength > maxUrlLength) {
      throw new RequestLimitError(414, {
        message: `The request's address has ${urlLength} characters, and may have ${maxUrlLength}`,
        remedy: 'Send lists in a body: every list has a POST .../search.',
      });
    }
    // Names and values alternate.
    const headers = (request?.rawHeaders.length ?? 0) / 2;
    if (headers > maxHeaders) {
      throw new RequestLimitError(431, {
        message: `The request has ${headers} headers, and may have ${maxHeaders}`,
        remedy: 'Send fewer.',
      });
    }
    await next();
  };
}
