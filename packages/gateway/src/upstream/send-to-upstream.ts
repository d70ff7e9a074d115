import type { Readable } from 'node:stream';
import type { Clock } from '@agentlightning/core';
import { isRetryableStatus } from '@agentlightning/core/internal';
import type { GatewayMetrics } from '../capture/gateway-metrics.ts';
import { GatewayError } from '../wire/gateway-error.ts';
import type { GatewayLog, GatewayOptions, RetryOptions } from '../wire/gateway-options.ts';
import type { HealthChecker } from './health-checks.ts';
import type { RegisteredUpstream } from './registered-upstream.ts';
import { nextDialect, plainDialect, type RequestDialect } from './request-dialect.ts';
import {
  type FirstByteWait,
  isUpstreamTimeout,
  type UpstreamClient,
  type UpstreamRequest,
  type UpstreamResponse,
} from './upstream-client.ts';
import { describeFailure, keyRefused, upstreamFailed, upstreamMessage, upstreamsBusy } from './upstream-failure.ts';

/** The dependencies of a call to an upstream. */
export interface UpstreamServices {
  readonly client: UpstreamClient;
  readonly health: HealthChecker;
  readonly retry: RetryOptions;
  /** Limit for the first byte of a response, in milliseconds; null: by the times of the upstreams. */
  readonly firstByteTimeoutMs: number | null;
  /** Limit for the silence within a response, in milliseconds. */
  readonly silenceTimeoutMs: number;
  /** Limit for the time in the queue of an upstream, in milliseconds. */
  readonly queueTimeoutMs: number;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: GatewayLog;
  readonly metrics: Pick<GatewayMetrics, 'upstreamTried' | 'retried'>;
  readonly onRejectedKey: NonNullable<GatewayOptions['onRejectedKey']>;
  /** Aborts when the gateway closes: nothing is retried then. */
  readonly closing: AbortSignal;
}

/** The response to a call. */
export interface UpstreamResult {
  readonly upstream: RegisteredUpstream;
  readonly response: UpstreamResponse;
  /** The whole body; null for a stream. */
  readonly text: string | null;
  /** The form in which the request was sent. */
  readonly dialect: RequestDialect;
}

/** A try that failed and may be repeated. */
export class FailedTry extends Error {
  override readonly name = 'FailedTry';
  readonly upstream: RegisteredUpstream;
  /** The whole response; null when there was none. */
  readonly result: UpstreamResult | null;

  constructor(upstream: RegisteredUpstream, cause: unknown, result: UpstreamResult | null) {
    super(describeFailure(cause), { cause });
    this.upstream = upstream;
    this.result = result;
  }
}

/** The context of one try. */
export interface UpstreamTry {
  readonly services: UpstreamServices;
  /** The slot at the upstream; freed with the end of the response. */
  readonly slot: UpstreamSlot;
  readonly request: UpstreamRequest;
  readonly wait: FirstByteWait;
}

/**
 * Sends a call to one upstream, and updates the upstream's health.
 *
 * @throws FailedTry for connection errors, timeouts and retryable statuses; GatewayError for failures that are final
 */
export async function sendToUpstream(attempt: UpstreamTry): Promise<UpstreamResult> {
  const { services, slot, request } = attempt;
  const { upstream, leave } = slot;
  let stream: Readable | null = null;
  try {
    const result = await requested(attempt);
    const { status, body } = result.response;
    if (typeof body !== 'string') stream = body;
    if (status >= 400 && upstream.given.returnsErrors === true) return result;
    if (!isRetryableStatus(status)) return checked(services, result);
    if (status >= 500) services.health.failed(upstream, `it returned ${status}`);
    throw new FailedTry(upstream, `it returned ${status}`, result);
  } catch (error) {
    if (error instanceof GatewayError || error instanceof FailedTry) throw error;
    if (!request.signal.aborted && !services.closing.aborted) {
      services.health.failed(upstream, describeFailure(error), isUpstreamTimeout(error));
    }
    throw new FailedTry(upstream, error, null);
  } finally {
    // A stream holds its slot until it is read to its end or destroyed.
    if (stream === null || stream.closed) leave();
    else stream.once('close', leave);
  }
}

/**
 * Sends a request as the upstream accepts it. After a refusal that names token fields or the order of messages, the request
 * is repeated in other forms; the first one that succeeds is used from then on.
 */
async function requested(attempt: UpstreamTry): Promise<UpstreamResult> {
  const { request } = attempt;
  const { upstream } = attempt.slot;
  const { adapted, isStreamed } = request;
  if (adapted === null) return await send(attempt, plainDialect);
  let dialect = upstream.dialect.for(isStreamed);
  let body = isPlain(dialect) ? request.body : adapted(dialect);
  const first = await send({ ...attempt, request: { ...request, body } }, dialect);
  for (let result = first; ; ) {
    const next = nextDialect({ status: result.response.status, text: result.text }, dialect, isStreamed);
    if (next === null) return first;
    dialect = next;
    const other = adapted(next);
    if (other === body) continue;
    body = other;
    result = await send({ ...attempt, request: { ...request, body } }, dialect);
    if (result.response.status >= 300) continue;
    noteDialect(attempt, result, first);
    return result;
  }
}

function isPlain(dialect: RequestDialect): boolean {
  return Object.values(dialect).join() === Object.values(plainDialect).join();
}

const notes = {
  tokens: {
    whole:
      'a model endpoint rejects requests for token ids in streamed calls; they are sent as whole calls, and streamed to the agent',
    none: 'a model endpoint rejects requests for token ids; its calls cannot be trained on',
  },
  order: 'a model endpoint rejects the positions of system messages; they become part of the user messages',
  content: 'a model endpoint rejects content in parts; text parts are joined to one text',
  callIds: 'a model endpoint rejects ids of tool calls; they are replaced by nine characters',
} as const;

function noteDialect(
  { services, slot, request }: UpstreamTry,
  { dialect }: UpstreamResult,
  refused: UpstreamResult,
): void {
  const { upstream } = slot;
  const details = { upstream: upstream.id, response: upstreamMessage(refused) };
  for (const part of upstream.dialect.learn(dialect, request.isStreamed)) {
    if (part !== 'tokens') services.log.warn(details, notes[part]);
    else services.log.warn(details, dialect.tokens === 'whole' ? notes.tokens.whole : notes.tokens.none);
  }
  if (dialect.tokens === 'none' && upstream.tokenSupport !== 'given') upstream.tokenSupport = 'refused';
}

async function send({ services, slot, request, wait }: UpstreamTry, dialect: RequestDialect): Promise<UpstreamResult> {
  const { clock, metrics, client } = services;
  const { upstream } = slot;
  const startMs = clock.now();
  let outcome: number | 'error' = 'error';
  try {
    if (wait.canFailOver) services.health.sending(upstream);
    const response = await client.send(upstream, request, wait);
    if (response.status < 300) upstream.firstByteTimes.add(request.isStreamed, response.firstByteTimeMs - startMs);
    const text = typeof response.body === 'string' ? response.body : null;
    if (request.observation !== null) {
      request.observation.upstreamRequestId = response.requestId;
      request.observation.isStreamed = text === null;
    }
    outcome = response.status;
    return { upstream, response, text, dialect };
  } finally {
    metrics.upstreamTried({ upstream: upstream.id, outcome, durationMs: clock.now() - startMs });
  }
}

/** 401 and 403 concern the gateway's key. The upstream's message may contain it, so it is not returned. */
function checked(services: UpstreamServices, result: UpstreamResult): UpstreamResult {
  const { status } = result.response;
  const { upstream } = result;
  if (status === 401 || status === 403) {
    services.health.failed(upstream, `it refused the gateway's key with ${status}`);
    if (status === 401 || upstream.firstByteTimes.isEmpty) {
      upstream.keyRejections += 1;
      services.onRejectedKey({ baseUrl: upstream.baseUrl, status });
    }
    throw keyRefused(upstream.baseUrl, status);
  }
  if (status >= 300 && status < 400) throw upstreamFailed(upstream.baseUrl, `redirects with ${status}`, null);
  services.health.succeeded(upstream);
  return result;
}

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
