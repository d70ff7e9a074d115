import { AgentLightningError } from '@agentlightning/core';
import type { Context, MiddlewareHandler } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { incomingOf } from '../observation/request-attributes.ts';
import type { BodyBudget, BodySender } from './body-budget.ts';

/** Thrown when a request exceeds a limit that has a specific HTTP status. */
export class RequestLimitError extends AgentLightningError {
  /** 414 for a URL that is too long, 431 for too many headers. */
  readonly status: 414 | 431;

  constructor(status: 414 | 431, limit: { readonly message: string; readonly remedy: string }) {
    super({ code: 'PAYLOAD_TOO_LARGE', ...limit });
    this.status = status;
  }
}

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

/** Rejects requests whose body exceeds the limit in bytes, or the bytes of bodies in memory. */
export function limitBody(options: {
  readonly maxBodyBytes: number;
  readonly budget: BodyBudget;
  readonly senderOf: (context: Context) => BodySender;
}): MiddlewareHandler {
  const { maxBodyBytes, budget, senderOf } = options;
  const countBytes = bodyLimit({ maxSize: maxBodyBytes, onError: () => rejectBody(maxBodyBytes) });
  return async (context, next) => {
    const isDeclared = context.req.header('transfer-encoding') === undefined;
    const bytes = isDeclared ? Number(context.req.header('content-length') ?? 0) : maxBodyBytes;
    if (bytes > maxBodyBytes) rejectBody(maxBodyBytes);
    if (bytes === 0) return next();
    const release = budget.reserve(senderOf(context), bytes);
    try {
      // Node enforces a declared content length, so the body needs no counting stream.
      return await (isDeclared ? next() : countBytes(context, next));
    } finally {
      release();
    }
  };
}

function rejectBody(maxBodyBytes: number): never {
  throw new AgentLightningError({
    code: 'PAYLOAD_TOO_LARGE',
    message: `The request body exceeds ${maxBodyBytes} bytes`,
    remedy: 'Send smaller requests, or raise maxBodyBytes of the server.',
    details: { maxBodyBytes },
  });
}
