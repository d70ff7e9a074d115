import { AgentLightningError, type Rollout } from '@agentlightning/core';
import { errorToWire, rolloutCodec, type WireWaitRequest, wireWaitRequestSchema } from '@agentlightning/core/protocol';
import type { WaitOptions } from '@agentlightning/core/store';
import type { Context, Hono } from 'hono';
import { answerJson } from '../answer.ts';
import { answerEvents, type ServerEvent } from '../event-stream.ts';
import { note } from '../observation/request-notes.ts';
import { readBody } from '../request-body.ts';
import type { StoreRouteOptions } from '../store-route.ts';

/** Waits for rollouts to finish; responds with JSON or, if accepted, with server-sent events. */
export function addWaitRoutes(app: Hono, { store, waits, heartbeatMs, untilClosed }: StoreRouteOptions): void {
  app.post('/waits/rollouts', async (context) => {
    const request = await readBody(context, wireWaitRequestSchema);
    const rolloutIds = request.is_strict ? request.rollout_ids : await knownOf(request.rollout_ids);
    const isStream = context.req.header('accept')?.includes('text/event-stream') ?? false;
    if (!isStream) {
      const wait = { timeoutMs: timeoutOf(request.timeout), signal: untilClosed(context) };
      const finished = await within(context, wait, () => store.waitForRollouts(rolloutIds, wait));
      return answerJson(
        context,
        finished.map((rollout) => rolloutCodec.encode(rollout)),
      );
    }
    // Validated before the stream begins, so errors have their HTTP status.
    await store.waitForRollouts(rolloutIds, { timeoutMs: 0 });
    note(context, { isWait: true });
    const end = waits.begin('rollouts');
    const gone = new AbortController();
    const signal = AbortSignal.any([untilClosed(context), gone.signal]);
    const wait = { timeoutMs: timeoutOf(streamTimeoutOf(request)), signal };
    const onEnd = (): void => {
      end();
      gone.abort();
    };
    return answerEvents(context, finishing(rolloutIds, wait), { heartbeatMs, onEnd });
  });

  async function within<TResponse>(
    context: Context,
    { timeoutMs }: { readonly timeoutMs: number },
    work: () => Promise<TResponse>,
  ): Promise<TResponse> {
    if (timeoutMs <= 0) return work();
    note(context, { isWait: true });
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
      yield { event: 'error', data: errorToWire(error) };
      return;
    }
    yield { event: 'finished', data: finished.map((rollout) => rolloutCodec.encode(rollout)) };
  }

  /** In the protocol, unknown ids are omitted. */
  async function knownOf(rolloutIds: readonly string[]): Promise<readonly string[]> {
    const { items } = await store.queryRollouts({ rolloutIdIn: rolloutIds });
    return items.map((rollout) => rollout.rolloutId);
  }
}

function streamTimeoutOf({ timeout, stream_timeout }: WireWaitRequest): number | null | undefined {
  return stream_timeout === undefined ? timeout : stream_timeout;
}

function timeoutOf(seconds: number | null | undefined): number {
  return seconds === null || seconds === undefined ? Number.POSITIVE_INFINITY : seconds * 1000;
}
