import type { Clock } from '@agentlightning/core';
import type { RegisteredUpstream } from './registered-upstream.ts';
import { upstreamsBusy } from './upstream-failure.ts';

/** How a call waits for a slot of an upstream. */
export interface AcquireSlotOptions {
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** The rollout: slots are granted to the waiting rollouts in turn. */
  readonly key: string;
  readonly signal: AbortSignal;
}

/** A slot of an upstream. */
export interface UpstreamSlot {
  readonly upstream: RegisteredUpstream;
  /** Frees the slot; to be called at the end of the response. */
  readonly leave: () => void;
}

/**
 * Waits for a slot of the first upstream whose queue is not full.
 *
 * @param upstreams - in the order of preference
 * @throws GatewayError 429 when all queues are full, or the wait timed out; the signal's reason when it aborts
 */
export async function acquireUpstreamSlot(
  upstreams: readonly RegisteredUpstream[],
  options: AcquireSlotOptions,
): Promise<UpstreamSlot> {
  const upstream = upstreams.find(({ slots }) => !slots.isFull);
  if (upstream === undefined) {
    const names = upstreams.map(({ id }) => id).join(', ');
    throw upstreamsBusy(`the queue for ${names} is full`);
  }
  const leave = upstream.slots.tryEnter() ?? (await waitInQueue(upstream, options));
  return { upstream, leave };
}

async function waitInQueue(upstream: RegisteredUpstream, options: AcquireSlotOptions): Promise<() => void> {
  const { clock, timeoutMs, key } = options;
  const signal = options.signal;
  const waiting = new AbortController();
  const done = new AbortController();
  const onAbort = (): void => waiting.abort(signal.reason);
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  const tooLong = upstreamsBusy(`timed out after ${timeoutMs} ms in the queue for ${upstream.id}`);
  void clock.sleep(timeoutMs, done.signal).then(
    () => waiting.abort(tooLong),
    () => undefined,
  );
  try {
    return await upstream.slots.wait(key, waiting.signal);
  } finally {
    done.abort();
    signal.removeEventListener('abort', onAbort);
  }
}
