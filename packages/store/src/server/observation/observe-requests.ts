import type { IncomingMessage, ServerResponse } from 'node:http';
import { headerNames, requestIdFrom } from '@agentlightning/core/protocol';
import { initRequestAttributes, type RequestAttributes } from './request-attributes.ts';
import type { StoreMetrics } from './store-metrics.ts';

/** Log of a server, for example a pino logger. */
export interface StoreServerLog {
  /** Successful requests. */
  debug(fields: object, message: string): void;
  /** Rejected requests. */
  info(fields: object, message: string): void;
  /** Slow requests, and clients that disconnected before the response. */
  warn(fields: object, message: string): void;
  /** Requests that failed in the server, and internal errors. */
  error(fields: object, message: string): void;
}

/** Where requests are reported. */
export interface RequestObservers {
  /** The metrics of a project; null for a request of unknown project. */
  readonly metricsOf: (project: string | null) => StoreMetrics;
  readonly log: StoreServerLog | null;
  /** Duration in milliseconds above which a request is logged as slow, except for long polls. */
  readonly slowRequestMs: number;
}

/** Assigns an id to one request, or keeps the client's, and reports its outcome. */
export function observeRequest(request: IncomingMessage, response: ServerResponse, observers: RequestObservers): void {
  const startMs = performance.now();
  const attributes = initRequestAttributes(request, requestIdFrom(request.headers[headerNames.requestId]));
  response.setHeader(headerNames.requestId, attributes.requestId);
  response.once('close', () => {
    const status = response.headersSent ? response.statusCode : null;
    const durationMs = performance.now() - startMs;
    report(observers, attributes, {
      method: request.method ?? '',
      status,
      durationMs,
      isCut: !response.writableFinished,
    });
  });
}

/** The outcome of a request. */
interface RequestEnd {
  readonly method: string;
  /** Null when the client disconnected before a response. */
  readonly status: number | null;
  readonly durationMs: number;
  /** Whether the response was not sent completely. */
  readonly isCut: boolean;
}

function report(
  { metricsOf, log, slowRequestMs }: RequestObservers,
  attributes: RequestAttributes,
  end: RequestEnd,
): void {
  const { method, status, durationMs, isCut } = end;
  const { requestId, path, sender, isWait, errorCode } = attributes;
  metricsOf(attributes.project).requestEnded({ method, path, status, isWait, durationMs });
  if (log === null) return;
  const fields = {
    requestId,
    method,
    // The route, not the raw path, which may contain anything, including keys.
    path,
    status,
    durationMs: Math.round(durationMs * 1000) / 1000,
    ...(sender === null ? {} : { sender }),
    ...(errorCode === null ? {} : { errorCode }),
  };
  if (status !== null && status >= 500) log.error(fields, 'request failed');
  else if (isCut && !isWait) log.warn(fields, 'client disconnected');
  else if (durationMs >= slowRequestMs && !isWait) log.warn(fields, 'slow request');
  else if (status !== null && status >= 400) log.info(fields, 'request rejected');
  else log.debug(fields, 'request');
}
