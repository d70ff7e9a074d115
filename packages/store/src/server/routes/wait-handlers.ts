import { AgentLightningError, type Rollout } from '@agentlightning/core';
import { errorCodec, specialRoutes } from '@agentlightning/core/protocol';
import type { WaitOptions } from '@agentlightning/core/store';
import type { Context } from 'hono';
import { eventStreamResponse, type ServerEvent } from '../event-stream.ts';
import { setRequestAttributes } from '../observation/request-attributes.ts';
import { readInput } from '../request-input.ts';
import { outputResponse, type SpecialHandlers, type StoreRouteOptions } from '../route-handler.ts';

const route = specialRoutes.waitForRollouts;

/** Waits for rollouts to finish; responds with JSON or, if accepted, with server-sent events. */
export function waitHandlers({
  store,
  waits,
  heartbeatMs,
  untilClosed,
}: StoreRouteOptions): Pick<SpecialHandlers, 'waitForRollouts'> {
  return {
    waitForRollouts: async (context) => {
      const { timeoutMs, streamTimeoutMs, isStrict, ...request } = await readInput(context, route);
      const rolloutIds = isStrict ? request.rolloutIds : await knownOf(request.rolloutIds);
      const isStream = context.req.header('accept')?.includes('text/event-stream') ?? false;
      if (!isStream) {
        const wait = { timeoutMs, signal: untilClosed(context) };
        return outputResponse(
          context,
          route,
          await within(context, wait, () => store.waitForRollouts(rolloutIds, wait)),
        );
      }
      // Validated before the stream begins, so errors have their HTTP status.
      await store.waitForRollouts(rolloutIds, { timeoutMs: 0 });
      setRequestAttributes(context, { isWait: true });
      const end = waits.begin('rollouts');
      const gone = new AbortController();
      const signal = AbortSignal.any([untilClosed(context), gone.signal]);
      const onEnd = (): void => {
        end();
        gone.abort();
      };
      const wait = { timeoutMs: streamTimeoutMs, signal };
      return eventStreamResponse(context, finishing(rolloutIds, wait), { heartbeatMs, onEnd });
    },
  };

  async function within<TResponse>(
    context: Context,
    { timeoutMs }: { readonly timeoutMs: number },
    work: () => Promise<TResponse>,
  ): Promise<TResponse> {
    if (timeoutMs <= 0) return work();
    setRequestAttributes(context, { isWait: true });
    const end = waits.begin('rollouts');
    try {
      return await work();
    } finally {
      end();
    }
  }

  async function* finishing(rolloutIds: readonly string[], wait: WaitOptions): AsyncGenerator<ServerEvent> {
    let finished: readonly Rollout[];
    try {
      finished = await store.waitForRollouts(rolloutIds, wait);
    } catch (error) {
      if (!AgentLightningError.isInstance(error)) throw error;
      yield { event: 'error', data: errorCodec.encode(error) };
      return;
    }
    yield { event: 'finished', data: route.response?.encode(finished) };
  }

  /** In the protocol, unknown ids are omitted. */
  async function knownOf(rolloutIds: readonly string[]): Promise<readonly string[]> {
    const { items } = await store.queryRollouts({ rolloutIdIn: rolloutIds });
    return items.map((rollout) => rollout.rolloutId);
  }
}
