import { backoffMs, parseRetryAfterMs, withRetry } from '@agentlightning/core/internal';
import { GatewayError, gatewayClosing } from '../wire/gateway-error.ts';
import type { RetryOptions } from '../wire/gateway-options.ts';
import { firstByteTimeoutMs } from './first-byte-times.ts';
import type { RegisteredUpstream } from './registered-upstream.ts';
import {
  acquireUpstreamSlot,
  FailedTry,
  sendToUpstream,
  type UpstreamResult,
  type UpstreamServices,
  type UpstreamSlot,
} from './send-to-upstream.ts';
import { type FirstByteWait, isUpstreamTimeout, type UpstreamRequest } from './upstream-client.ts';
import { describeFailure, upstreamErrored, upstreamFailed, upstreamTimedOut } from './upstream-failure.ts';

/** The order in which one call tries its upstreams: the healthy ones first, each once in a round. */
class FailoverOrder {
  readonly #preferred: readonly RegisteredUpstream[];
  /** Tried in this round. */
  readonly #tried: Set<RegisteredUpstream> = new Set();
  /** Silent until a timeout. They are not tried twice: the wait is too long. */
  readonly #silent: Set<RegisteredUpstream> = new Set();
  #finishedRounds = 0;

  /** @param preferred - at least one, the preferred one first */
  constructor(preferred: readonly RegisteredUpstream[]) {
    this.#preferred = preferred;
  }

  /** The upstreams for the next try; empty when all were silent. */
  get next(): readonly RegisteredUpstream[] {
    const rank = (upstream: RegisteredUpstream): number =>
      (upstream.health.isUp ? 0 : 2) + (this.#tried.has(upstream) ? 1 : 0);
    return this.#preferred
      .filter((upstream) => !this.#silent.has(upstream))
      .toSorted((left, right) => rank(left) - rank(right));
  }

  /** Rounds in which every upstream that was up has failed. */
  get finishedRounds(): number {
    return this.#finishedRounds;
  }

  /** A try failed. @returns whether the next upstream was not tried in this round yet */
  failed(upstream: RegisteredUpstream, isSilent: boolean): boolean {
    this.#tried.add(upstream);
    if (isSilent) this.#silent.add(upstream);
    const [next] = this.next;
    if (next !== undefined && !this.#tried.has(next)) return true;
    this.#tried.clear();
    this.#finishedRounds += 1;
    return false;
  }
}

/** The default retry options. */
export const defaultRetry: RetryOptions = {
  maxRetries: 5,
  baseDelayMs: 250,
  maxDelayMs: 8000,
  maxRetryAfterMs: 60_000,
};

/**
 * Calls the first upstream that is up. After a connection error, a timeout before the first byte, or status 408, 409,
 * 429 or 5xx, the call fails over to the next one at once; when all have failed, it is retried with backoff. A stream
 * is returned with its first chunk; nothing is retried from then on.
 *
 * @param upstreams - at least one, the preferred one first
 * @returns any response below 500, except 401 and 403
 * @throws GatewayError 502 or 504, naming the upstream; 429 when its queue is full; 499 when the client has
 * disconnected; 503 when the gateway closes
 */
export async function callWithFailover(
  services: UpstreamServices,
  upstreams: readonly RegisteredUpstream[],
  request: UpstreamRequest,
): Promise<UpstreamResult> {
  const startMs = services.clock.now();
  const order = new FailoverOrder(upstreams);
  let tries = 0;
  try {
    return await withRetry(
      async () => {
        assertWanted(services, request);
        const slot = await slotFor(services, order.next, request);
        const wait = firstByteWait(services, upstreams, { request, tries });
        tries += 1;
        return await sendToUpstream({ services, slot, request, wait });
      },
      {
        clock: services.clock,
        signal: () => AbortSignal.any([request.signal, services.closing]),
        delayMs: (error) => delayMs(services, { error, order, request, tries }),
      },
    );
  } catch (error) {
    if (error instanceof FailedTry) return finalResult(error, tries);
    assertWanted(services, request);
    throw error;
  } finally {
    if (request.observation !== null) request.observation.upstreamMs += services.clock.now() - startMs;
  }
}

/** A call without another upstream waits as long as within a response. */
function firstByteWait(
  services: UpstreamServices,
  upstreams: readonly RegisteredUpstream[],
  { request: { isStreamed }, tries }: { readonly request: UpstreamRequest; readonly tries: number },
): FirstByteWait {
  const { firstByteTimeoutMs: given, silenceTimeoutMs: longestMs } = services;
  const canFailOver = upstreams.length > 1;
  if (given !== null || !canFailOver) return { timeoutMs: given ?? longestMs, canFailOver };
  return { timeoutMs: firstByteTimeoutMs({ upstreams, isStreamed, tries, longestMs }), canFailOver };
}

async function slotFor(
  services: UpstreamServices,
  upstreams: readonly RegisteredUpstream[],
  { observation, signal }: UpstreamRequest,
): Promise<UpstreamSlot> {
  const key = observation?.attempt?.rolloutId ?? '';
  const slot = await acquireUpstreamSlot(upstreams, {
    clock: services.clock,
    timeoutMs: services.queueTimeoutMs,
    key,
    signal,
  }).catch((error: unknown) => {
    throw signal.aborted ? cancelled(signal.reason) : error;
  });
  if (observation !== null) {
    observation.tries += 1;
    observation.upstream = slot.upstream.id;
  }
  return slot;
}

function assertWanted(services: UpstreamServices, request: UpstreamRequest): void {
  if (request.signal.aborted) throw cancelled(request.signal.reason);
  if (!services.closing.aborted) return;
  throw gatewayClosing();
}

/** The error of an aborted call. After a disconnect, it only reaches the record. */
function cancelled(reason: unknown): GatewayError {
  if (reason instanceof GatewayError) return reason;
  return new GatewayError({
    code: 'CANCELLED',
    type: 'cancelled',
    httpStatus: 499,
    message: 'the client disconnected before the response arrived',
  });
}

interface FailedCall {
  readonly error: unknown;
  readonly order: FailoverOrder;
  readonly request: UpstreamRequest;
  /** Including the failed one. */
  readonly tries: number;
}

/** The delay before the next try: none for a failover. Null when the failure is final. */
function delayMs(services: UpstreamServices, { error, order, request, tries }: FailedCall): number | null {
  if (!(error instanceof FailedTry)) return null;
  assertWanted(services, request);
  const { upstream, result } = error;
  const canFailOver = order.failed(upstream, isUpstreamTimeout(error.cause));
  if (order.next.length === 0) return null;
  const delay = canFailOver ? 0 : roundDelayMs(services, order.finishedRounds, result);
  if (delay === null) return null;
  services.metrics.retried(upstream.id);
  const requestId = request.observation?.requestId;
  services.log.warn({ requestId, upstream: upstream.id, tries, delayMs: delay, err: error.cause }, 'a try failed');
  return delay;
}

/** The delay after a round in which every upstream that is up has failed. */
function roundDelayMs(
  services: UpstreamServices,
  finishedRounds: number,
  result: UpstreamResult | null,
): number | null {
  const { retry, clock, random } = services;
  if (finishedRounds > retry.maxRetries) return null;
  const retryAfterMs = parseRetryAfterMs(result?.response.headers['retry-after'] ?? null, clock.now());
  if (retryAfterMs === null) return backoffMs(retry, finishedRounds, random());
  return retryAfterMs <= retry.maxRetryAfterMs ? retryAfterMs : null;
}

function finalResult({ upstream, result, cause }: FailedTry, tries: number): UpstreamResult {
  if (result !== null && result.response.status < 500) return result;
  const times = tries === 1 ? 'at the first try' : `after ${tries} tries`;
  if (result !== null) throw upstreamErrored(result, times);
  if (isUpstreamTimeout(cause)) throw upstreamTimedOut(upstream.baseUrl, cause);
  throw upstreamFailed(upstream.baseUrl, `could not be reached ${times}: ${describeFailure(cause)}`, cause);
}
