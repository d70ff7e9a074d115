import { randomUUID } from 'node:crypto';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { beginNotes, type RequestNotes } from './request-notes.ts';
import type { StoreMetrics } from './store-metrics.ts';
import type { StoreServerLog } from './store-server-log.ts';

/** Who is told about requests. */
export interface RequestObservers {
  readonly metrics: StoreMetrics;
  readonly log: StoreServerLog | null;
  /** From when on a request that waits for nothing is called slow, in milliseconds. */
  readonly slowRequestMs: number;
}

/** What clients may choose as the id of a request: what needs no quotes anywhere, and is no longer than it must be. */
const requestIdPattern = /^[\w.:-]{1,128}$/;

/** Gives every request an id, or keeps the one it came with, and tells how it went when it is over. */
export function observeRequests(server: Server, observers: RequestObservers): void {
  // Before the application answers: it may do so at once.
  server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
    const startMs = performance.now();
    const given = request.headers['x-request-id'];
    const isUsable = typeof given === 'string' && requestIdPattern.test(given);
    const notes = beginNotes(request, isUsable ? given : randomUUID());
    response.setHeader('x-request-id', notes.requestId);
    response.once('close', () => {
      const status = response.headersSent ? response.statusCode : null;
      const durationMs = performance.now() - startMs;
      tell(observers, notes, { method: request.method ?? '', status, durationMs, isCut: !response.writableFinished });
    });
  });
}

/** How a request ended. */
interface RequestEnd {
  readonly method: string;
  /** Null when the client went away before there was one. */
  readonly status: number | null;
  readonly durationMs: number;
  /** Whether the answer did not reach its end. */
  readonly isCut: boolean;
}

function tell({ metrics, log, slowRequestMs }: RequestObservers, notes: RequestNotes, end: RequestEnd): void {
  const { method, status, durationMs, isCut } = end;
  const { requestId, path, sender, isWait, errorCode } = notes;
  metrics.requestEnded({ method, path, status, isWait, durationMs });
  if (log === null) return;
  const fields = {
    requestId,
    method,
    // Paths as they came could have anything in them, a key included.
    path,
    status,
    durationMs: Math.round(durationMs * 1000) / 1000,
    ...(sender === null ? {} : { sender }),
    ...(errorCode === null ? {} : { errorCode }),
  };
  if (status !== null && status >= 500) log.error(fields, 'request failed');
  else if (isCut && !isWait) log.warn(fields, 'client went away');
  else if (durationMs >= slowRequestMs && !isWait) log.warn(fields, 'slow request');
  else if (status !== null && status >= 400) log.info(fields, 'request refused');
  else log.debug(fields, 'request');
}
