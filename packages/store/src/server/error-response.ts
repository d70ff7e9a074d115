import { AgentLightningError, NotFoundError } from '@agentlightning/core';
import { errorCodec, httpStatusOf } from '@agentlightning/core/protocol';
import type { Context, Hono } from 'hono';
import { RequestLimitError } from './limits/limit-requests.ts';
import { requestIdOf, setRequestAttributes } from './observation/request-attributes.ts';
import { MalformedRequestError } from './request-input.ts';

/** Responds with an error and its remedy. Details of unexpected errors are not exposed. */
export function errorResponse(context: Context, error: unknown, onFault: (error: unknown) => void): Response {
  if (!AgentLightningError.isInstance(error)) {
    onFault(error);
    return knownErrorResponse(context, opaqueError(requestIdOf(context)));
  }
  if (error.code === 'INTERNAL') onFault(error);
  return knownErrorResponse(context, error);
}

function knownErrorResponse(context: Context, error: AgentLightningError): Response {
  const status = statusOf(error);
  setRequestAttributes(context, { errorCode: error.code });
  context.status(status as Parameters<typeof context.status>[0]);
  if (status === 401) context.header('www-authenticate', 'Bearer');
  if (status === 429) context.header('retry-after', '1');
  context.header('content-type', 'application/json');
  return context.body(JSON.stringify(errorCodec.encode(error)));
}

/** The response to an unexpected error: the request id to look up in the server's log, without details. */
function opaqueError(requestId: string | null): AgentLightningError {
  const message = 'Internal server error';
  if (requestId === null) return new AgentLightningError({ code: 'INTERNAL', message });
  const remedy = `Report it with the log lines of request ${requestId}.`;
  return new AgentLightningError({ code: 'INTERNAL', message, remedy, details: { requestId } });
}

function statusOf(error: AgentLightningError): number {
  if (error instanceof RequestLimitError) return error.status;
  return error instanceof MalformedRequestError ? 422 : httpStatusOf(error.code);
}

/** Responds to an unknown route: 405 when the path has a route with another method, 404 otherwise. */
export function unknownRouteResponse(app: Hono, context: Context): Response {
  const { method, path } = context.req;
  const verbs = ['GET', 'POST', 'DELETE'].filter((verb) => hasRoute(app, verb, path));
  context.status(verbs.length > 0 ? 405 : 404);
  if (verbs.length > 0) context.header('allow', verbs.join(', '));
  setRequestAttributes(context, { errorCode: 'NOT_FOUND' });
  context.header('content-type', 'application/json');
  return context.body(JSON.stringify(errorCodec.encode(new NotFoundError('Route', `${method} ${path}`))));
}

function hasRoute(app: Hono, verb: string, path: string): boolean {
  // Middleware for all methods is not a final handler.
  return app.router.match(verb, path)[0].some(([[, route]]) => route.method === verb);
}
