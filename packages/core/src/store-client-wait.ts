import { z } from 'zod';
import type { Clock } from './clock.ts';
import {
  attemptedRolloutFromWire,
  rolloutFromWire,
  wireAttemptedRolloutSchema,
  wireRolloutSchema,
} from './protocol/wire-rollout.ts';
import type { WireClaimRequest, WireWaitRequest } from './protocol/wire-wait.ts';
import type { AttemptedRollout, Rollout } from './rollout.ts';
import type { ClaimOptions, WaitOptions } from './store.ts';
import type { StoreTransport } from './store-client-transport.ts';

/** The longest that one request asks the server to wait, in milliseconds: proxies cut off longer silences. */
const longestPollMs = 20_000;

/** An answer that comes sooner than this was not waited for: servers of Agent Lightning 0.3 answer at once. */
const minPollMs = 50;

/** How long to wait before asking such a server again, in milliseconds. */
const pauseMs = 250;

/** What waiting over HTTP needs. */
export interface HttpWaiting {
  readonly transport: StoreTransport;
  readonly clock: Clock;
}

/** Claims over HTTP, asking again until something is claimed or the wait is over. */
export async function claimOverHttp(
  { transport, clock }: HttpWaiting,
  options: ClaimOptions,
): Promise<readonly AttemptedRollout[]> {
  const { limit = 1, workerId = null, runId, waitMs = 0, signal } = options;
  const deadline = clock.now() + waitMs;
  while (!signal?.aborted) {
    const askedMs = clock.now();
    const pollMs = Math.max(0, Math.min(deadline - askedMs, longestPollMs));
    const body: WireClaimRequest = { limit, worker_id: workerId, run_id: runId, wait_seconds: pollMs / 1000 };
    const request = {
      method: 'POST',
      path: '/queues/rollouts/dequeue',
      body,
      answer: z.array(wireAttemptedRolloutSchema),
      // A claim whose answer is lost on the way is asked for again, and gives the same rollouts.
      idempotencyKey: crypto.randomUUID(),
      waitMs: pollMs,
      signal,
    } as const;
    const wire = await transport.send(request).catch(unlessAborted(signal, []));
    if (wire.length > 0 || clock.now() >= deadline) return wire.map(attemptedRolloutFromWire);
    await unlessItWaited({ clock, askedMs, deadline, signal });
  }
  return [];
}

/** Waits over HTTP until the rollouts are finished or the wait is over. */
export async function waitOverHttp(
  { transport, clock }: HttpWaiting,
  rolloutIds: readonly string[],
  options: WaitOptions,
): Promise<readonly Rollout[]> {
  const ids = [...new Set(rolloutIds)];
  const { signal } = options;
  const deadline = clock.now() + (options.timeoutMs ?? Number.POSITIVE_INFINITY);
  const ask = async (pollMs: number, until: AbortSignal | undefined): Promise<readonly Rollout[] | null> => {
    const body: WireWaitRequest = { rollout_ids: ids, timeout: pollMs / 1000, is_strict: true };
    const request = { method: 'POST', path: '/waits/rollouts', body, waitMs: pollMs, signal: until } as const;
    const answer = z.array(wireRolloutSchema);
    const wire = await transport.send({ ...request, answer }).catch(unlessAborted(until, null));
    return wire === null ? null : wire.map(rolloutFromWire);
  };
  while (!signal?.aborted) {
    const askedMs = clock.now();
    const finished = await ask(Math.max(0, Math.min(deadline - askedMs, longestPollMs)), signal);
    if (finished !== null && (finished.length === ids.length || clock.now() >= deadline)) return finished;
    await unlessItWaited({ clock, askedMs, deadline, signal });
  }
  return (await ask(0, undefined)) ?? [];
}

/** Waits a little before a server is asked again that did not wait itself. */
async function unlessItWaited(poll: {
  readonly clock: Clock;
  readonly askedMs: number;
  readonly deadline: number;
  readonly signal: AbortSignal | undefined;
}): Promise<void> {
  const { clock, askedMs, deadline, signal } = poll;
  const nowMs = clock.now();
  if (nowMs - askedMs >= minPollMs) return;
  // The signal cuts it short, and also ends the loop.
  await clock.sleep(Math.max(0, Math.min(deadline - nowMs, pauseMs)), signal).catch(() => {});
}

/** Gives a value instead of the error when the caller itself ended the request. */
function unlessAborted<TValue>(signal: AbortSignal | undefined, value: TValue): (error: unknown) => TValue {
  return (error) => {
    if (signal?.aborted) return value;
    throw error;
  };
}
