import {
  attemptCodec,
  attemptPatchCodec,
  attemptQueryFromWire,
  rolloutCodec,
  type WireAttemptQuery,
  wireAttemptQuerySchema,
  wireAttemptStartSchema,
} from '@agentlightning/core/protocol';
import type { Context, Hono } from 'hono';
import { assertOwnRollout } from '../access/agent-limits.ts';
import { answerJson } from '../answer.ts';
import { answerList } from '../answer-list.ts';
import { doOnce } from '../idempotency.ts';
import { readBody, readOptionalBody, readPatch } from '../request-body.ts';
import { readParameters } from '../request-parameters.ts';
import type { StoreRouteOptions } from '../store-route.ts';

const notNull = ['status', 'worker_id', 'last_heartbeat_time', 'metadata'];

/** Attempts of a rollout: start, list, read, update. */
export function addAttemptRoutes(app: Hono, { store, onFault }: StoreRouteOptions): void {
  const list = (context: Context, rolloutId: string, wire: WireAttemptQuery): Promise<Response> => {
    const attempts = store.streamAttempts(rolloutId, attemptQueryFromWire(wire));
    return answerList(context, attempts, { toWire: (attempt) => attemptCodec.encode(attempt), onFault });
  };

  app.post('/rollouts/:rolloutId/attempts', async (context) => {
    const { worker_id } = await readOptionalBody(context, wireAttemptStartSchema);
    const rolloutId = context.req.param('rolloutId');
    const started = await doOnce(context, store, (transaction) =>
      transaction.startAttempt(rolloutId, worker_id ?? null),
    );
    return answerJson(context, rolloutCodec.encode(started), 201);
  });

  app.get('/rollouts/:rolloutId/attempts', (context) =>
    list(context, context.req.param('rolloutId'), readParameters(context, wireAttemptQuerySchema)),
  );
  app.post('/rollouts/:rolloutId/attempts/search', async (context) =>
    list(context, context.req.param('rolloutId'), await readBody(context, wireAttemptQuerySchema)),
  );

  app.get('/rollouts/:rolloutId/attempts/latest', async (context) => {
    const rolloutId = context.req.param('rolloutId');
    assertOwnRollout(context, rolloutId);
    const attempt = await store.getLatestAttempt(rolloutId);
    return answerJson(context, attemptCodec.nullable().encode(attempt));
  });

  app.post('/rollouts/:rolloutId/attempts/:attemptId', async (context) => {
    const patch = await readPatch(context, attemptPatchCodec, notNull);
    const { rolloutId, attemptId } = context.req.param();
    const updated = await doOnce(context, store, (transaction) =>
      transaction.updateAttempt(rolloutId, attemptId, patch),
    );
    return answerJson(context, attemptCodec.encode(updated));
  });
}
