import { AgentLightningError } from '@agentlightning/core';
import { errorCodec, httpStatusOf } from '@agentlightning/core/protocol';
import { Hono } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { ErrorView } from '../api/store-views.ts';
import type { DashboardContext } from './dashboard-context.ts';
import { addSecurity } from './dashboard-security.ts';
import { addAnnotationRoute } from './routes/annotation-route.ts';
import { addApiRoutes } from './routes/api-routes.ts';
import { addDatasetRoute } from './routes/dataset-route.ts';
import { addEventRoute } from './routes/event-route.ts';
import { addReplayRoutes } from './routes/replay-route.ts';
import type { ViewerAccess } from './viewer-access.ts';
import type { WebFile } from './web-files.ts';

/** Options of {@link dashboardApp}. */
export interface DashboardAppOptions {
  readonly context: DashboardContext;
  readonly access: ViewerAccess;
  readonly files: ReadonlyMap<string, WebFile>;
  /** Ends open event streams. */
  readonly closing: AbortSignal;
}

/** The HTTP application: the JSON API, the event stream and the web page. */
export function dashboardApp({ context, access, files, closing }: DashboardAppOptions): Hono {
  const app = new Hono();
  app.onError((error, request) => errorResponse(error, (view, status) => request.json(view, status)));
  addSecurity(app, access, context.clock);
  addApiRoutes(app, context);
  addAnnotationRoute(app, context, access);
  addDatasetRoute(app, context);
  addReplayRoutes(app, context, access);
  addEventRoute(app, context, closing);
  app.all('/api/*', () => {
    throw new AgentLightningError({
      code: 'NOT_FOUND',
      message: 'Route not found. Besides annotations and replays, the dashboard has only GET routes.',
      remedy: 'See the README of @agentlightning/dashboard for the routes.',
    });
  });
  app.get('*', (request) => {
    const file = files.get(request.req.path) ?? files.get('/index.html');
    if (file === undefined) return request.text('The web page is not built. Run `pnpm build`.\n', 404);
    request.header('content-type', file.contentType);
    if (file.isHashed) request.header('cache-control', 'public, max-age=31536000, immutable');
    return request.body(file.body);
  });
  return app;
}

function errorResponse(error: unknown, send: (view: ErrorView, status: ContentfulStatusCode) => Response): Response {
  const known = AgentLightningError.isInstance(error)
    ? error
    : new AgentLightningError({ code: 'INTERNAL', message: 'Internal error', cause: error });
  const { code, message, remedy } = errorCodec.encode(known).error;
  return send({ error: { code, message, remedy } }, httpStatusOf(known.code) as ContentfulStatusCode);
}
