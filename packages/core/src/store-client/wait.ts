import { z } from 'zod';
import type { Clock } from '../clock.ts';
import { AgentLightningError } from '../errors/agent-lightning-error.ts';
import { parse } from '../parse.ts';
import { attemptedRolloutCodec, rolloutCodec } from '../protocol/rollouts/wire-rollout.ts';
import { errorFromWire } from '../protocol/wire-error.ts';
import type { WireClaimRequest, WireWaitRequest } from '../protocol/wire-wait.ts';
import type { AttemptedRollout, Rollout } from '../store/rollout.ts';
import type { ClaimOptions, WaitOptions } from '../store/store.ts';
import { eventStreamType, isEventStream, readEvents } from './events.ts';
import type { StoreTransport } from './transport.ts';

/** Maximum wait per request, in milliseconds: proxies close connections that are idle for longer. */
const maxPollMs = 20_000;

/** A faster response means that the server does not support waiting: Agent Lightning 0.3 responds immediately. */
const minPollMs = 50;

/** Poll interval for such a server, in milliseconds. */
const pauseMs = 250;

/** Dependencies of waiting over HTTP. */
export interface HttpWaiting {
  readonly transport: StoreTransport;
  readonly clock: Clock;
}

/** Claims over HTTP, repeated until a rollout is claimed or the wait ends. */
export async function claimOverHttp(
  { transport, clock }: HttpWaiting,
  options: ClaimOptions,
): Promise<readonly AttemptedRollout[]> {
  const { limit = 1, workerId = null, runId, waitMs = 0, signal } = options;
  const deadline = clock.now() + waitMs;
  while (!signal?.aborted) {
    const askedMs = clock.now();
    const pollMs = Math.max(0, Math.min(deadline - askedMs, maxPollMs));
    const body: WireClaimRequest = { limit, worker_id: workerId, run_id: runId, wait_seconds: pollMs / 1000 };
    const request = {
      method: 'POST',
      path: '/queues/rollouts/dequeue',
      body,
      answer: z.array(attemptedRolloutCodec),
      // A retried claim returns the same rollouts.
      idempotencyKey: crypto.randomUUID(),
      waitMs: pollMs,
      signal,
    } as const;
    const claimed = await transport.send(request).catch(unlessAborted(signal, []));
    if (claimed.length > 0 || clock.now() >= deadline) return claimed;
    await pauseUnlessServerWaited({ clock, askedMs, deadline, signal });
  }
  return [];
}

/**
 * Waits over HTTP until the rollouts are finished or the wait ends: one long request. Only a server without waiting,
 * such as Agent Lightning 0.3, is polled.
 */
export async function waitOverHttp(
  { transport, clock }: HttpWaiting,
  rolloutIds: readonly string[],
  options: WaitOptions,
): Promise<readonly Rollout[]> {
  const ids = [...new Set(rolloutIds)];
  const { signal } = options;
  const deadline = clock.now() + (options.timeoutMs ?? Number.POSITIVE_INFINITY);
  const ask = async (waitMs: number, until: AbortSignal | undefined): Promise<readonly Rollout[] | null> => {
    const pollMs = Math.min(waitMs, maxPollMs);
    const body: WireWaitRequest = {
      rollout_ids: ids,
      timeout: pollMs / 1000,
      stream_timeout: Number.isFinite(waitMs) ? waitMs / 1000 : null,
      is_strict: true,
    };
    const headers = { accept: `${eventStreamType}, application/json` };
    const request = { method: 'POST', path: '/waits/rollouts', body, headers, waitMs: pollMs, signal: until } as const;
    const answer = await transport.open(request).then(readFinished).catch(unlessAborted(until, null));
    return answer === null ? null : parse(z.array(rolloutCodec), answer, 'Finished rollouts');
  };
  while (!signal?.aborted) {
    const askedMs = clock.now();
    const finished = await ask(Math.max(0, deadline - askedMs), signal);
    if (finished !== null && (finished.length === ids.length || clock.now() >= deadline)) return finished;
    await pauseUnlessServerWaited({ clock, askedMs, deadline, signal });
  }
  return (await ask(0, undefined)) ?? [];
}

/** The rollouts in a wait response; null when it is interrupted. */
async function readFinished(response: Response): Promise<unknown> {
  try {
    if (!isEventStream(response)) return await response.json();
    for await (const { event, data } of readEvents(response)) {
      if (event === 'finished') return JSON.parse(data);
      if (event === 'error') throw errorFromWire(500, JSON.parse(data));
    }
  } catch (error) {
    if (AgentLightningError.isInstance(error)) throw error;
  }
  return null;
}

/** Delays the next poll of a server without waiting. */
async function pauseUnlessServerWaited(poll: {
  readonly clock: Clock;
  readonly askedMs: number;
  readonly deadline: number;
  readonly signal: AbortSignal | undefined;
}): Promise<void> {
  const { clock, askedMs, deadline, signal } = poll;
  const nowMs = clock.now();
  if (nowMs - askedMs >= minPollMs) return;
  // An abort ends the delay and the loop.
  await clock.sleep(Math.max(0, Math.min(deadline - nowMs, pauseMs)), signal).catch(() => {});
}

/** Returns a value instead of the error when the caller aborted the request. */
function unlessAborted<TValue>(signal: AbortSignal | undefined, value: TValue): (error: unknown) => TValue {
  return (error) => {
    if (signal?.aborted) return value;
    throw error;
  };
}
