import { AgentLightningError } from '@agentlightning/core';
import { errorCodec, httpStatusOf } from '@agentlightning/core/protocol';
import { Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { getCookie, setCookie } from 'hono/cookie';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { ErrorView } from '../api/store-views.ts';
import type { DashboardContext } from './dashboard-context.ts';
import { addAnnotationRoute } from './routes/annotation-route.ts';
import { addApiRoutes } from './routes/api-routes.ts';
import { addDatasetRoute } from './routes/dataset-route.ts';
import { addEventRoute } from './routes/event-route.ts';
import { addReplayRoutes } from './routes/replay-route.ts';
import { type ViewerAccess, viewerCookie } from './viewer-access.ts';
import type { WebFile } from './web-files.ts';

/** No inline script or style, no other host. Traces contain text of agents and models, which is hostile. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

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
  app.use(async (request, next) => {
    request.header('content-security-policy', contentSecurityPolicy);
    request.header('x-content-type-options', 'nosniff');
    // Not `no-referrer`: the sign-in form would then be sent without its origin.
    request.header('referrer-policy', 'same-origin');
    request.header('cross-origin-resource-policy', 'same-origin');
    request.header('cache-control', 'no-store');
    access.assertSameOrigin(request.req.raw.headers);
    await next();
  });
  app.post('/session', bodyLimit({ maxSize: 4096 }), async (request) => {
    const { key } = await request.req.parseBody();
    const cookie = typeof key === 'string' ? await access.cookieFor(key) : null;
    if (cookie === null) return request.redirect('/?signIn=failed', 303);
    setCookie(request, viewerCookie, cookie, { path: '/', httpOnly: true, sameSite: 'Strict' });
    return request.redirect('/', 303);
  });
  app.use('/api/*', async (request, next) => {
    await access.assertViewer(request.req.header('authorization'), getCookie(request, viewerCookie));
    await next();
  });
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
