import {
  rolloutRequestFromWire,
  rolloutToWire,
  wireClaimRequestSchema,
  wireEnqueueSchema,
} from '@agentlightning/core/protocol';
import type { Hono } from 'hono';
import { answerJson } from '../answer.ts';
import { doOnce, idempotentRequest } from '../idempotency.ts';
import { readBody, readOptionalBody } from '../request-body.ts';
import type { StoreRouteOptions } from '../store-route.ts';

/** Into the queue and out of it. */
export function addQueueRoutes(app: Hono, { store, untilClosed }: StoreRouteOptions): void {
  app.post('/queues/rollouts/enqueue', async (context) => {
    const { rollouts } = await readBody(context, wireEnqueueSchema);
    const requests = rollouts.map(rolloutRequestFromWire);
    const enqueued = await doOnce(context, store, (transaction) => transaction.enqueueRollouts(requests));
    // The protocol's rollouts in a queue have no attempt.
    return answerJson(context, enqueued.map(rolloutToWire), 201);
  });

  app.post('/queues/rollouts/dequeue', async (context) => {
    const { limit = 1, worker_id, run_id, wait_seconds } = await readOptionalBody(context, wireClaimRequestSchema);
    if (limit <= 0) return answerJson(context, []);
    const idempotency = await idempotentRequest(context);
    const waitMs = (wait_seconds ?? 0) * 1000;
    const claimed = await store.claimRollouts({
      limit,
      workerId: worker_id ?? null,
      // Only a wait can be given up, and the signal of a request costs as much as the claim.
      ...(waitMs > 0 ? { waitMs, signal: untilClosed(context) } : {}),
      ...(run_id ? { runId: run_id } : {}),
      ...(idempotency === undefined ? {} : { idempotency }),
    });
    return answerJson(context, claimed.map(rolloutToWire));
  });
}
