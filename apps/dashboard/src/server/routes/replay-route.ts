import { AgentLightningError, type JsonObject } from '@agentlightning/core';
import { modelCallAttributes, parse, parseJsonObject, toGenAiOutputMessages } from '@agentlightning/core/internal';
import { traceMessages } from '@agentlightning/trace';
import type { Hono } from 'hono';
import { getCookie } from 'hono/cookie';
import { z } from 'zod';
import type { ReplayModels, ReplayView } from '../../api/replay-views.ts';
import type { SpanView } from '../../api/rollout-views.ts';
import type { DashboardContext } from '../dashboard-context.ts';
import { limitedBody } from '../dashboard-security.ts';
import { type ViewerAccess, viewerCookie } from '../viewer-access.ts';

const replayBody = z.strictObject({
  attempt: z.string().min(1).max(200),
  model: z.string().min(1).max(200),
  policy: z.string().max(200).nullable().default(null),
  temperature: z.number().min(0).max(2).optional(),
});

const withoutReplayer =
  'This dashboard was started without a model. Start it with `agl dashboard --replay <config>` for the checkpoints of runs, or with --endpoint and --model.';

/** The routes that repeat a recorded request with another model. They write nothing to the store. */
export function addReplayRoutes(app: Hono, context: DashboardContext, access: ViewerAccess): void {
  const { store, clock, rollouts, replayer } = context;
  app.get('/api/rollouts/:id/replay', async (request) => {
    const { runId } = await store.getRollout(request.req.param('id'));
    const items = (await replayer?.models(runId)) ?? [];
    const none = replayer === null ? withoutReplayer : 'The run has no checkpoint yet.';
    const models: ReplayModels = { items, reason: items.length > 0 ? null : none };
    return request.json(models);
  });
  if (replayer === null) return;
  app.post('/api/rollouts/:id/spans/:span/replay', limitedBody(4096), async (request) => {
    // A model costs time or money: viewers who may only read cannot use it.
    await access.assertAnnotator(request.req.header('authorization'), getCookie(request, viewerCookie));
    const sent: unknown = await request.req.json().catch(() => null);
    const { attempt, model, policy, temperature } = parse(replayBody, sent, 'Replay');
    const rolloutId = request.req.param('id');
    const { runId } = await store.getRollout(rolloutId);
    const span = await rollouts.span({ rolloutId, attemptId: attempt, spanId: request.req.param('span') });
    const body = repeatedRequest(span, temperature ?? null);
    const startedMs = clock.now();
    const response = await replayer.complete({ runId, model, policy, body, signal: request.req.raw.signal });
    return request.json(replayView(response, clock.now() - startedMs));
  });
}

/** The request of a model call without streaming. */
function repeatedRequest({ spanId, attributes, requestBody }: SpanView, temperature: number | null): JsonObject {
  const body = requestBody === null ? null : parseJsonObject(requestBody);
  const api = attributes[modelCallAttributes.api] ?? 'chat-completions';
  if (body === null || api !== 'chat-completions') {
    throw new AgentLightningError({
      code: 'VALIDATION',
      message: `Span ${spanId} has no Chat Completions request: ${body === null ? 'no body was captured' : `its API is ${String(api)}`}`,
      remedy: 'Replay a model call of the Chat Completions API that the gateway captured.',
    });
  }
  const { stream: _stream, stream_options: _options, ...request } = body;
  return { ...request, ...(temperature === null ? {} : { temperature }) };
}

function replayView(response: JsonObject, durationMs: number): ReplayView {
  const messages = toGenAiOutputMessages(response);
  const reason = messages[0]?.['finish_reason'];
  return {
    messages: traceMessages(JSON.stringify(messages)),
    finishReason: typeof reason === 'string' ? reason : null,
    durationMs,
    responseBody: JSON.stringify(response),
  };
}
