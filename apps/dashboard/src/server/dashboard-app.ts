import { Readable } from 'node:stream';
import { AgentLightningError } from '@agentlightning/core';
import { parse, rolloutModes } from '@agentlightning/core/internal';
import { errorCodec, httpStatusOf } from '@agentlightning/core/protocol';
import type { Judgement } from '@agentlightning/core/spans';
import { Hono } from 'hono';
import { getCookie } from 'hono/cookie';
import { streamSSE } from 'hono/streaming';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { z } from 'zod';
import type { ErrorView } from '../api/store-views.ts';
import { changeEvents } from './change-events.ts';
import type { DashboardContext } from './dashboard-context.ts';
import { addSecurity, limitedBody } from './dashboard-security.ts';
import { addApiRoutes } from './routes/api-routes.ts';
import { addReplayRoutes } from './routes/replay-route.ts';
import type { ViewerAccess } from './viewer-access.ts';
import { viewerCookie } from './viewer-access.ts';
import type { WebFile } from './web-files.ts';

/** Interval of heartbeats in milliseconds: proxies close idle connections, and the page detects a lost one. */
const heartbeatMs = 10_000;

/** Maximum number of open event streams. */
const maxStreams = 64;

/**
 * Adds `/api/events`: the changes of the store as server-sent events.
 *
 * @param closing - ends all streams; a string as its reason is the last event of each, `closing`
 */
function addEventRoute(app: Hono, { store, clock }: DashboardContext, closing: AbortSignal): void {
  let open = 0;
  app.get('/api/events', (context) => {
    if (open >= maxStreams) throw tooManyStreams();
    open += 1;
    const gone = new AbortController();
    const signal = AbortSignal.any([gone.signal, closing]);
    context.header('x-accel-buffering', 'no');
    return streamSSE(context, async (stream) => {
      stream.onAbort(() => gone.abort());
      const heartbeat = setInterval(() => void stream.writeSSE({ event: 'heartbeat', data: '{}' }), heartbeatMs);
      try {
        for await (const event of changeEvents({ store, clock, signal })) {
          await stream.writeSSE({ event: 'changes', data: JSON.stringify(event) });
        }
        const notice: unknown = closing.reason;
        if (typeof notice === 'string') await stream.writeSSE({ event: 'closing', data: JSON.stringify({ notice }) });
      } finally {
        clearInterval(heartbeat);
        gone.abort();
        open -= 1;
      }
    });
  });
}

function tooManyStreams(): AgentLightningError {
  return new AgentLightningError({
    code: 'RESOURCE_EXHAUSTED',
    message: `Event stream refused: ${maxStreams} are open.`,
    remedy: 'Close other pages of the dashboard.',
  });
}

const parameters = z.strictObject({
  format: z.enum(['chat', 'preference']).default('chat'),
  from: z.enum(['rewards', 'annotations']).default('annotations'),
  mode: z.enum(rolloutModes).default('train'),
  minReward: z.coerce.number().optional(),
});

/** The download of a run's data set. */
function addDatasetRoute(app: Hono, { store, datasets }: DashboardContext): void {
  if (datasets === null) return;
  app.get('/api/runs/:id/dataset', async (request) => {
    const { minReward, ...choice } = parse(parameters, request.req.query(), 'Query');
    const { runId: run } = await store.getRun(request.req.param('id'));
    // A minimum has a meaning for conversations that rewards select.
    const hasMinimum = minReward !== undefined && choice.format === 'chat' && choice.from === 'rewards';
    const lines = datasets({ run, ...choice, ...(hasMinimum ? { minReward } : {}) });
    request.header('content-type', 'application/jsonl; charset=utf-8');
    request.header('content-disposition', `attachment; filename="${run}-${choice.format}.jsonl"`);
    const encoder = new TextEncoder();
    const chunks = Readable.from(lines).map((line: string) => encoder.encode(line));
    return request.body(Readable.toWeb(chunks) as ReadableStream);
  });
}

const annotationBody = z
  .strictObject({
    label: z.enum(['good', 'bad', 'none']).optional(),
    comment: z.string().max(4000).optional(),
    correction: z.string().max(32_768).optional(),
    preferredOver: z.string().min(1).max(200).optional(),
  })
  .refine((body) => Object.keys(body).length > 0, 'must have label, comment, correction or preferredOver');

/** The only route that writes: it adds the judgement of a reviewer to the latest attempt of a finished rollout. */
function addAnnotationRoute(app: Hono, { annotator }: DashboardContext, access: ViewerAccess): void {
  if (annotator === null) return;
  app.post('/api/rollouts/:id/annotations', limitedBody(32 * 1024), async (request) => {
    await access.assertAnnotator(request.req.header('authorization'), getCookie(request, viewerCookie));
    const body: unknown = await request.req.json().catch(() => null);
    const judgement = parse(annotationBody, body, 'Annotation') as Judgement;
    await annotator.recordFeedback({ ...judgement, rolloutId: request.req.param('id'), source: 'reviewer' });
    return request.body(null, 204);
  });
}

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
      remedy: 'See "API" on the page of the dashboard in the documentation for the routes.',
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
