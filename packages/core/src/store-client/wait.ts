import * as z from 'zod';
import { AgentLightningError } from '../base/agent-lightning-error.ts';
import type { Clock } from '../base/clock.ts';
import { parse } from '../base/parse.ts';
import { specialRoutes } from '../protocol/routes/special-routes.ts';
import { errorFromWire } from '../protocol/wire/wire-error.ts';
import { rolloutCodec } from '../protocol/wire/wire-rollout.ts';
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

const rollouts = z.array(rolloutCodec);

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
    const startMs = clock.now();
    const pollMs = Math.max(0, Math.min(deadline - startMs, maxPollMs));
    // A retried claim returns the same rollouts.
    const claimed = await transport
      .call(specialRoutes.claimRollouts, {
        input: { limit, workerId, ...(runId === undefined ? {} : { runId }), waitMs: pollMs },
        waitMs: pollMs,
        signal,
      })
      .catch(unlessAborted(signal, []));
    if (claimed.length > 0 || clock.now() >= deadline) return claimed;
    await pauseUnlessServerWaited({ clock, startMs, deadline, signal });
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
  const request = async (waitMs: number, until: AbortSignal | undefined): Promise<readonly Rollout[] | null> => {
    const pollMs = Math.min(waitMs, maxPollMs);
    const response = await transport
      .open(specialRoutes.waitForRollouts, {
        input: { rolloutIds: ids, timeoutMs: pollMs, streamTimeoutMs: waitMs, isStrict: true },
        headers: { accept: `${eventStreamType}, application/json` },
        waitMs: pollMs,
        signal: until,
      })
      .then(readFinished)
      .catch(unlessAborted(until, null));
    return response === null ? null : parse(rollouts, response, 'Finished rollouts');
  };
  while (!signal?.aborted) {
    const startMs = clock.now();
    const finished = await request(Math.max(0, deadline - startMs), signal);
    if (finished !== null && (finished.length === ids.length || clock.now() >= deadline)) return finished;
    await pauseUnlessServerWaited({ clock, startMs, deadline, signal });
  }
  return (await request(0, undefined)) ?? [];
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
  readonly startMs: number;
  readonly deadline: number;
  readonly signal: AbortSignal | undefined;
}): Promise<void> {
  const { clock, startMs, deadline, signal } = poll;
  const nowMs = clock.now();
  if (nowMs - startMs >= minPollMs) return;
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
