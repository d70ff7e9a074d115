import type { Clock } from '@agentlightning/core';
import type { RegisteredUpstream } from './registered-upstream.ts';
import { upstreamsBusy } from './upstream-failure.ts';

/** How a call waits for a place at an upstream. */
export interface EnterOptions {
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** Whose turn it is in the line: the rollout. */
  readonly key: string;
  readonly signal: AbortSignal;
}

/** A place at an upstream. */
export interface UpstreamPlace {
  readonly upstream: RegisteredUpstream;
  /** Gives the place back; to be called once the answer is whole. */
  readonly leave: () => void;
}

/**
 * Waits for a place at the first upstream that lets calls in or in line.
 *
 * @param upstreams - in the order of preference
 * @throws GatewayError 429 when all are full, or the line was too slow; the signal's reason when it aborts
 */
export async function enterUpstream(
  upstreams: readonly RegisteredUpstream[],
  options: EnterOptions,
): Promise<UpstreamPlace> {
  const upstream = upstreams.find(({ slots }) => !slots.isFull);
  if (upstream === undefined) {
    const names = upstreams.map(({ id }) => id).join(', ');
    throw upstreamsBusy(`as many calls wait for ${names} as may`);
  }
  const leave = upstream.slots.tryEnter() ?? (await waitInLine(upstream, options));
  return { upstream, leave };
}

async function waitInLine(upstream: RegisteredUpstream, options: EnterOptions): Promise<() => void> {
  const { clock, timeoutMs, key } = options;
  const signal = options.signal;
  const waiting = new AbortController();
  const done = new AbortController();
  const onAbort = (): void => waiting.abort(signal.reason);
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  const tooLong = upstreamsBusy(`the call waited ${timeoutMs} ms for ${upstream.id}, and no longer may`);
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
