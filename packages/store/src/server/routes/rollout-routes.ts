import {
  rolloutCodec,
  rolloutPatchCodec,
  rolloutQueryFromWire,
  rolloutRequestCodec,
  type WireRolloutQuery,
  wireRolloutQuerySchema,
} from '@agentlightning/core/protocol';
import type { Context, Hono } from 'hono';
import { assertOwnRollout } from '../access/agent-limits.ts';
import { answerJson } from '../answer.ts';
import { answerList } from '../answer-list.ts';
import { doOnce } from '../idempotency.ts';
import { readBody, readPatch } from '../request-body.ts';
import { readParameters } from '../request-parameters.ts';
import type { StoreRouteOptions } from '../store-route.ts';

/** Rollouts: start, list, read, update. */
export function addRolloutRoutes(app: Hono, { store, onFault }: StoreRouteOptions): void {
  const list = (context: Context, wire: WireRolloutQuery): Promise<Response> =>
    answerList(context, store.streamRollouts(rolloutQueryFromWire(wire)), {
      toWire: (rollout) => rolloutCodec.encode(rollout),
      onFault,
    });

  app.post('/rollouts', async (context) => {
    const request = await readBody(context, rolloutRequestCodec);
    const started = await doOnce(context, store, (transaction) => transaction.startRollout(request));
    return answerJson(context, rolloutCodec.encode(started), 201);
  });

  app.get('/rollouts', (context) => list(context, readParameters(context, wireRolloutQuerySchema)));
  app.post('/rollouts/search', async (context) => list(context, await readBody(context, wireRolloutQuerySchema)));

  app.get('/rollouts/:rolloutId', async (context) => {
    const rolloutId = context.req.param('rolloutId');
    assertOwnRollout(context, rolloutId);
    return answerJson(context, rolloutCodec.encode(await store.getRollout(rolloutId)));
  });

  app.post('/rollouts/:rolloutId', async (context) => {
    const patch = await readPatch(context, rolloutPatchCodec, ['status', 'config']);
    const rolloutId = context.req.param('rolloutId');
    const updated = await doOnce(context, store, (transaction) => transaction.updateRollout(rolloutId, patch));
    return answerJson(context, rolloutCodec.encode(updated));
  });
}
