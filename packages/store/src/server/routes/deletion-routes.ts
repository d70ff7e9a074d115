import {
  retentionPolicyCodec,
  retentionPreviewCodec,
  rolloutDeletionCodec,
  runDeletionCodec,
} from '@agentlightning/core/protocol';
import type { Hono } from 'hono';
import { answerJson } from '../answer.ts';
import { doOnce, idempotentRequest } from '../idempotency.ts';
import { readBody } from '../request-body.ts';
import type { StoreRouteOptions } from '../store-route.ts';

/** Deletion of rollouts and runs, an extension of the Agent Lightning 0.3 protocol. */
export function addDeletionRoutes(app: Hono, { store }: StoreRouteOptions): void {
  app.post('/deletions/rollouts', async (context) => {
    const rolloutIds = await readBody(context, rolloutDeletionCodec);
    return answerJson(context, await doOnce(context, store, (transaction) => transaction.deleteRollouts(rolloutIds)));
  });

  // These two use several transactions, the last of which stores the response.
  app.post('/deletions/runs', async (context) => {
    const { runId, force } = await readBody(context, runDeletionCodec);
    const idempotency = await idempotentRequest(context);
    return answerJson(context, await store.deleteRun(runId, { force, idempotency }));
  });

  app.post('/deletions/retention', async (context) => {
    const policy = await readBody(context, retentionPolicyCodec);
    const idempotency = await idempotentRequest(context);
    return answerJson(context, await store.applyRetention(policy, { idempotency }));
  });

  // A separate path: a server that does not support it deletes nothing.
  app.post('/deletions/retention/preview', async (context) => {
    const policy = await readBody(context, retentionPolicyCodec);
    return answerJson(context, retentionPreviewCodec.encode(await store.previewRetention(policy)));
  });
}
