import { NotFoundError } from '@agentlightning/core';
import { errorToWire } from '@agentlightning/core/protocol';
import type { Context, Hono } from 'hono';
import { note } from './observation/request-notes.ts';

/** Responds to an unknown route: 405 when the path has a route with another method, 404 otherwise. */
export function answerUnknownRoute(app: Hono, context: Context): Response {
  const { method, path } = context.req;
  const verbs = ['GET', 'POST', 'DELETE'].filter((verb) => hasRoute(app, verb, path));
  context.status(verbs.length > 0 ? 405 : 404);
  if (verbs.length > 0) context.header('allow', verbs.join(', '));
  note(context, { errorCode: 'NOT_FOUND' });
  context.header('content-type', 'application/json');
  return context.body(JSON.stringify(errorToWire(new NotFoundError('Route', `${method} ${path}`))));
}

function hasRoute(app: Hono, verb: string, path: string): boolean {
  // Middleware for all methods is not a final handler.
  return app.router.match(verb, path)[0].some(([[, route]]) => route.method === verb);
}
