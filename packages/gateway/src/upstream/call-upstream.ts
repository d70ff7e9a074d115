import { backoffMs, parseRetryAfterMs, withRetry } from '@agentlightning/core/internal';
import { GatewayError, gatewayClosing } from '../gateway-error.ts';
import type { RetryOptions } from '../gateway-options.ts';
import { enterUpstream, type UpstreamSlot } from './enter-upstream.ts';
import { FailoverOrder } from './failover-order.ts';
import type { RegisteredUpstream } from './registered-upstream.ts';
import { FailedTry, tryUpstream } from './try-upstream.ts';
import type { UpstreamCaller, UpstreamResult } from './upstream-caller.ts';
import type { UpstreamRequest } from './upstream-client.ts';
import { describeFailure, upstreamErrored, upstreamFailed, upstreamSilent } from './upstream-failure.ts';
import { isSilence } from './upstream-silence.ts';

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
export async function callUpstream(
  caller: UpstreamCaller,
  upstreams: readonly RegisteredUpstream[],
  request: UpstreamRequest,
): Promise<UpstreamResult> {
  const startMs = caller.clock.now();
  const order = new FailoverOrder(upstreams);
  let tries = 0;
  try {
    return await withRetry(
      async () => {
        assertWanted(caller, request);
        const slot = await slotFor(caller, order.next, request);
        tries += 1;
        return await tryUpstream({ caller, slot, request, canFailOver: upstreams.length > 1 });
      },
      {
        clock: caller.clock,
        signal: () => AbortSignal.any([request.signal, caller.closing]),
        delayMs: (error) => delayMs(caller, { error, order, request, tries }),
      },
    );
  } catch (error) {
    if (error instanceof FailedTry) return finalResult(error, tries);
    assertWanted(caller, request);
    throw error;
  } finally {
    if (request.observation !== null) request.observation.upstreamMs += caller.clock.now() - startMs;
  }
}

async function slotFor(
  caller: UpstreamCaller,
  upstreams: readonly RegisteredUpstream[],
  { observation, signal }: UpstreamRequest,
): Promise<UpstreamSlot> {
  const key = observation?.attempt?.rolloutId ?? '';
  const slot = await enterUpstream(upstreams, {
    clock: caller.clock,
    timeoutMs: caller.queueTimeoutMs,
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

function assertWanted(caller: UpstreamCaller, request: UpstreamRequest): void {
  if (request.signal.aborted) throw cancelled(request.signal.reason);
  if (!caller.closing.aborted) return;
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
function delayMs(caller: UpstreamCaller, { error, order, request, tries }: FailedCall): number | null {
  if (!(error instanceof FailedTry)) return null;
  assertWanted(caller, request);
  const { upstream, result } = error;
  const canFailOver = order.failed(upstream, isSilence(error.cause));
  if (order.next.length === 0) return null;
  const delay = canFailOver ? 0 : roundDelayMs(caller, order.finishedRounds, result);
  if (delay === null) return null;
  caller.metrics.retried(upstream.id);
  const requestId = request.observation?.requestId;
  caller.log.warn({ requestId, upstream: upstream.id, tries, delayMs: delay, err: error.cause }, 'a try failed');
  return delay;
}

/** The delay after a round in which every upstream that is up has failed. */
function roundDelayMs(caller: UpstreamCaller, finishedRounds: number, result: UpstreamResult | null): number | null {
  const { retry, clock, random } = caller;
  if (finishedRounds > retry.maxRetries) return null;
  const retryAfterMs = parseRetryAfterMs(result?.response.headers['retry-after'] ?? null, clock.now());
  if (retryAfterMs === null) return backoffMs(retry, finishedRounds, random());
  return retryAfterMs <= retry.maxRetryAfterMs ? retryAfterMs : null;
}

function finalResult({ upstream, result, cause }: FailedTry, tries: number): UpstreamResult {
  if (result !== null && result.response.status < 500) return result;
  const times = tries === 1 ? 'at the first try' : `after ${tries} tries`;
  if (result !== null) throw upstreamErrored(result, times);
  if (isSilence(cause)) throw upstreamSilent(upstream.baseUrl, cause);
  throw upstreamFailed(upstream.baseUrl, `could not be reached ${times}: ${describeFailure(cause)}`, cause);
}
