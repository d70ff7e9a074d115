import {
  retentionPolicyFromWire,
  retentionPreviewToWire,
  wireRetentionPolicySchema,
  wireRolloutDeletionSchema,
  wireRunDeletionSchema,
} from '@agentlightning/core/protocol';
import type { Hono } from 'hono';
import { answerJson } from '../answer.ts';
import { doOnce, idempotentRequest } from '../idempotency.ts';
import { readBody } from '../request-body.ts';
import type { StoreRouteOptions } from '../store-route.ts';

/** Deleting rollouts and runs, which the protocol of Agent Lightning 0.3 does not have. */
export function addDeletionRoutes(app: Hono, { store }: StoreRouteOptions): void {
  app.post('/deletions/rollouts', async (context) => {
    const { rollout_ids } = await readBody(context, wireRolloutDeletionSchema);
    return answerJson(context, await doOnce(context, store, (transaction) => transaction.deleteRollouts(rollout_ids)));
  });

  // These two go in many transactions, the last of which keeps the answer.
  app.post('/deletions/runs', async (context) => {
    const { run_id, force = false } = await readBody(context, wireRunDeletionSchema);
    const idempotency = await idempotentRequest(context);
    return answerJson(context, await store.deleteRun(run_id, { force, idempotency }));
  });

  app.post('/deletions/retention', async (context) => {
    const policy = retentionPolicyFromWire(await readBody(context, wireRetentionPolicySchema));
    const idempotency = await idempotentRequest(context);
    return answerJson(context, await store.applyRetention(policy, { idempotency }));
  });

  // An address of its own: a server that does not know it deletes nothing.
  app.post('/deletions/retention/preview', async (context) => {
    const policy = retentionPolicyFromWire(await readBody(context, wireRetentionPolicySchema));
    return answerJson(context, retentionPreviewToWire(await store.previewRetention(policy)));
  });
}
