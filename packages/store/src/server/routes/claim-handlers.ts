import type { AttemptedRollout } from '@agentlightning/core';
import { specialRoutes } from '@agentlightning/core/protocol';
import type { Context } from 'hono';
import { idempotentRequest } from '../idempotency.ts';
import { setRequestAttributes } from '../observation/request-attributes.ts';
import { readInput } from '../request-input.ts';
import { outputResponse, type SpecialHandlers, type StoreRouteOptions } from '../route-handler.ts';

type Claimed = readonly AttemptedRollout[];

const route = specialRoutes.claimRollouts;

/** Claims rollouts, optionally as a long poll. */
export function claimHandlers({
  store,
  metrics,
  waits,
  untilClosed,
}: StoreRouteOptions): Pick<SpecialHandlers, 'claimRollouts'> {
  return {
    claimRollouts: async (context) => {
      const { limit = 1, workerId = null, runId, waitMs = 0 } = await readInput(context, route);
      if (limit <= 0) return outputResponse(context, route, []);
      const idempotency = await idempotentRequest(context);
      const claim = (wait: { readonly waitMs?: number; readonly signal?: AbortSignal }): Promise<Claimed> =>
        store.claimRollouts({
          limit,
          workerId,
          ...wait,
          ...(runId ? { runId } : {}),
          ...(idempotency === undefined ? {} : { idempotency }),
        });
      // Created for waits only: the abort signal of a request costs as much as the claim.
      const claimed = waitMs > 0 ? await waiting(context, (signal) => claim({ waitMs, signal })) : await claim({});
      metrics.rolloutsClaimed(claimed.length);
      return outputResponse(context, route, claimed);
    },
  };

  async function waiting(context: Context, claim: (signal: AbortSignal) => Promise<Claimed>): Promise<Claimed> {
    setRequestAttributes(context, { isWait: true });
    const end = waits.begin('claim');
    try {
      return await claim(untilClosed(context));
    } finally {
      end();
    }
  }
}
