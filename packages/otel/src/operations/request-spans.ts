import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Attributes, propagation, ROOT_CONTEXT, SpanKind, SpanStatusCode, type Tracer } from '@opentelemetry/api';
import { activeSpan } from './span-context.ts';

/** A message of Node's channel for requests that an HTTP server has received. */
interface RequestStart {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

const requestStart = 'http.server.request.start';

/** Probes and scrapes, which would outnumber all other requests. */
const unrecorded: ReadonlySet<string> = new Set([
  '/healthz',
  '/health',
  '/v1/agl/health',
  '/metrics',
  '/v1/prometheus',
]);

/**
 * Records the requests that the HTTP servers of this process receive, as children of the caller's span where it sends a
 * `traceparent` header. Bodies, queries and headers, which can have keys, are not recorded.
 *
 * @returns a function that ends the recording
 */
export function recordRequests(tracer: Tracer): () => void {
  const onStart = (message: unknown): void => recordRequest(tracer, message as RequestStart);
  subscribe(requestStart, onStart);
  return () => void unsubscribe(requestStart, onStart);
}

function recordRequest(tracer: Tracer, { request, response }: RequestStart): void {
  const path = (request.url ?? '').split('?')[0] ?? '';
  // Also for requests without a span: the context of the previous request of the connection must not stay.
  activeSpan.enterWith(undefined);
  if (unrecorded.has(path)) return;
  const method = request.method ?? '';
  const attributes: Attributes = { 'http.request.method': method, 'url.path': path };
  const parent = propagation.extract(ROOT_CONTEXT, request.headers);
  const span = tracer.startSpan(`${method} ${routeOf(path)}`, { kind: SpanKind.SERVER, attributes }, parent);
  activeSpan.enterWith(span);
  response.once('close', () => {
    if (response.headersSent) span.setAttribute('http.response.status_code', response.statusCode);
    if (!response.headersSent) span.setAttribute('error.type', 'client disconnected');
    // Paths without a route can be anything.
    if (response.statusCode === 404) span.updateName(method);
    if (response.statusCode >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end();
  });
}

/** Path segments of the routes of this system: words. Everything else is an id, or unknown. */
const word = /^([a-z][a-z_.]{0,23}|v\d)$/;

/** The path with `:id` for its ids and at most eight segments, for names of low cardinality. */
function routeOf(path: string): string {
  const segments = path.split('/').slice(0, 9);
  return segments.map((segment) => (segment === '' || word.test(segment) ? segment : ':id')).join('/');
}
