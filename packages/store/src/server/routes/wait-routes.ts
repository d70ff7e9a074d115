import { rolloutToWire, wireWaitRequestSchema } from '@agentlightning/core/protocol';
import type { Hono } from 'hono';
import { answerJson } from '../answer.ts';
import { readBody } from '../request-body.ts';
import type { StoreRouteOptions } from '../store-route.ts';

/** Waiting for rollouts to end. */
export function addWaitRoutes(app: Hono, { store, untilClosed }: StoreRouteOptions): void {
  app.post('/waits/rollouts', async (context) => {
    const { rollout_ids, timeout, is_strict } = await readBody(context, wireWaitRequestSchema);
    const rolloutIds = is_strict ? rollout_ids : await knownOf(rollout_ids);
    const finished = await store.waitForRollouts(rolloutIds, {
      timeoutMs: timeout === null || timeout === undefined ? Number.POSITIVE_INFINITY : timeout * 1000,
      signal: untilClosed(context),
    });
    return answerJson(context, finished.map(rolloutToWire));
  });

  /** The protocol leaves ids out that it does not know. */
  async function knownOf(rolloutIds: readonly string[]): Promise<readonly string[]> {
    const { items } = await store.queryRollouts({ rolloutIdIn: rolloutIds });
    return items.map((rollout) => rollout.rolloutId);
  }
}
