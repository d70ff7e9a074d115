import type { AttemptedRollout } from '@agentlightning/core';
import { enqueueCodec, rolloutCodec, wireClaimRequestSchema } from '@agentlightning/core/protocol';
import type { Context, Hono } from 'hono';
import { answerJson } from '../answer.ts';
import { doOnce, idempotentRequest } from '../idempotency.ts';
import { note } from '../observation/request-notes.ts';
import { readBody, readOptionalBody } from '../request-body.ts';
import type { StoreRouteOptions } from '../store-route.ts';

type Claimed = readonly AttemptedRollout[];

/** Enqueue and claim rollouts. */
export function addQueueRoutes(app: Hono, { store, metrics, waits, untilClosed }: StoreRouteOptions): void {
  app.post('/queues/rollouts/enqueue', async (context) => {
    const { rollouts } = await readBody(context, enqueueCodec);
    const enqueued = await doOnce(context, store, (transaction) => transaction.enqueueRollouts(rollouts));
    metrics.rolloutsEnqueued(enqueued.length);
    // In the protocol, queued rollouts have no attempt.
    return answerJson(
      context,
      enqueued.map((rollout) => rolloutCodec.encode(rollout)),
      201,
    );
  });

  app.post('/queues/rollouts/dequeue', async (context) => {
    const { limit = 1, worker_id, run_id, wait_seconds } = await readOptionalBody(context, wireClaimRequestSchema);
    if (limit <= 0) return answerJson(context, []);
    const idempotency = await idempotentRequest(context);
    const waitMs = (wait_seconds ?? 0) * 1000;
    const claim = (wait: { readonly waitMs?: number; readonly signal?: AbortSignal }): Promise<Claimed> =>
      store.claimRollouts({
        limit,
        workerId: worker_id ?? null,
        ...wait,
        ...(run_id ? { runId: run_id } : {}),
        ...(idempotency === undefined ? {} : { idempotency }),
      });
    // Created for waits only: the abort signal of a request costs as much as the claim.
    const claimed = waitMs > 0 ? await waiting(context, (signal) => claim({ waitMs, signal })) : await claim({});
    metrics.rolloutsClaimed(claimed.length);
    return answerJson(
      context,
      claimed.map((rollout) => rolloutCodec.encode(rollout)),
    );
  });

  async function waiting(context: Context, claim: (signal: AbortSignal) => Promise<Claimed>): Promise<Claimed> {
    note(context, { isWait: true });
    const end = waits.begin('claim');
    try {
      return await claim(untilClosed(context));
    } finally {
      end();
    }
  }
}
