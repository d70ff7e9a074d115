import { systemClock } from '../base/clock.ts';
import { headerNames } from '../base/header-names.ts';
import { backoffMs, withRetry } from '../base/retry.ts';
import { failureOriginOf, isInfrastructureStatus } from '../store/failure-origin.ts';
import { currentRollout, type RolloutContext, type RolloutEndpoint } from '../tracing/rollout-context.ts';
import { noteSignal } from './abort-reasons.ts';
import type { TracePosition } from './agent-step.ts';
import { bareFetch, isWrappedBy, markLayer, positionOfLayers } from './fetch-layer.ts';
import { gatewayHeaders, gatewayUrl, type HeadersInput, hasHeader, positionOfContext } from './gateway-request.ts';
import { isRequest, type ModelRequest, readFetch } from './model-request.ts';

/** Options of an adapter for the redirection of model calls. */
export interface RedirectOptions {
  /**
   * Whether model calls are redirected to the rollout's endpoint, if it has one. When false, they are sent unchanged and
   * traced without tokens.
   *
   * @default true
   */
  readonly redirect?: boolean;
  /** Selects the model calls to redirect; return false for a judge. @default all */
  readonly shouldRedirect?: ((call: { readonly url: URL; readonly model: string | null }) => boolean) | undefined;
}

/** Options of {@link redirectedFetch}. */
export interface RedirectedFetchOptions extends Pick<RedirectOptions, 'shouldRedirect'> {
  /** Sends the requests. @default the global fetch at the time of the call */
  readonly fetch?: typeof fetch | undefined;
  /**
   * Trace position of a call made now; null when the framework does not know it.
   *
   * @default the position of the rollout context, which `AgentSteps.within` sets
   */
  readonly position?: (() => TracePosition | null) | undefined;
  /** Called for every redirected model call, so that its body need not be read twice. @default none */
  readonly onRequest?: ((request: ModelRequest) => void) | undefined;
}

/** A model call to a rollout's endpoint. */
export interface GatewayCall {
  /** The fetch that sends it. */
  readonly send: typeof fetch;
  readonly request: ModelRequest;
  readonly context: RolloutContext;
  readonly input: Parameters<typeof fetch>[0];
  readonly init: RequestInit | undefined;
  readonly position: TracePosition | null;
}

/** Maximum wait for earlier spans to be stored before a call, so that rewards and calls are stored in order. */
const maxFlushMs = 1000;

/**
 * Longest outage of the gateway that a call waits for, in milliseconds: as long as the trainer's other connections do by
 * default.
 */
const maxOutageMs = 30_000;

const outageBackoff = { baseDelayMs: 100, maxDelayMs: 2000 };

/** Maximum number of microtask turns to detect that no span is pending. */
const turnsOfFlush = 8;

/**
 * A `fetch` that sends model calls to the endpoint of their rollout.
 *
 * Within a rollout with an endpoint, POSTs to a model API are sent to the attempt's URL at the gateway, with the
 * gateway's key and the trace position (`x-agl-*` headers). All other requests are forwarded unchanged: outside of a
 * rollout, without an endpoint, and for embeddings, which the trained model does not serve. It records nothing, and a
 * call that is already redirected is not redirected again.
 *
 * @example
 * ```ts
 * const client = new OpenAI({ fetch: redirectedFetch() });
 * ```
 */
export function redirectedFetch(options: RedirectedFetchOptions = {}): typeof fetch {
  const { shouldRedirect = () => true, position, onRequest } = options;
  const redirected: typeof fetch = async (input, init) => {
    const next = nextFetch(redirected, options.fetch);
    const context = currentRollout();
    if (context !== null) noteSignal(context, ownSignal(input, init));
    if (context === null || context.endpoint === null || isRedirected(input, init)) return next(input, init);
    const read = readFetch(input, init);
    const { request, init: readInit } = read instanceof Promise ? await read : read;
    if (request === null || !isForGateway(request) || !shouldRedirect({ url: request.url, model: request.model })) {
      return next(input, readInit);
    }
    onRequest?.(request);
    const send = bareFetch(next);
    const call = { send, request, context, input, init: readInit, position: position?.() ?? positionOfLayers(next) };
    return throughGateway(call, context.endpoint);
  };
  return markLayer(redirected, { inner: options.fetch ?? globalThis.fetch, position });
}

/** Whether the gateway serves the request: all APIs except embeddings. */
export function isForGateway(request: ModelRequest): boolean {
  return request.api !== 'embeddings';
}

/** Whether the request has already been redirected to a gateway. */
export function isRedirected(input: Parameters<typeof fetch>[0], init: RequestInit | undefined): boolean {
  return hasHeader(headersInit(input, init), headerNames.traceId);
}

/** Sends a model call to a rollout's endpoint, after earlier spans are stored. */
export async function throughGateway(call: GatewayCall, endpoint: RolloutEndpoint): Promise<Response> {
  const { send, request, context, input, init } = call;
  // Read before waiting: the trace position at the time of the call counts.
  const given = headersInit(input, init);
  const headers = gatewayHeaders(given, { context, endpoint, position: call.position ?? positionOfContext(context) });
  await flushed(context);
  const ended = context.onModelCall?.();
  const signal = signalOf(call);
  const startMs = systemClock.now();
  let isDown = false;
  const sendOnce = (): Promise<Response> =>
    send(gatewayUrl(request, endpoint), {
      ...init,
      method: 'POST',
      // A user-supplied fetch can rely on a `Headers` instance from its client; the global fetch does not.
      headers: given instanceof Headers && send !== bareFetch(globalThis.fetch) ? new Headers(headers) : headers,
      body: request.text,
      signal,
    });
  try {
    const response = await withRetry(sendOnce, {
      clock: systemClock,
      signal: () => signal,
      // An agent cannot know that its model call failed because of an outage.
      delayMs: (error, failures) => {
        isDown = failureOriginOf(error) === 'infrastructure';
        const isOver = signal.aborted || systemClock.now() - startMs > maxOutageMs;
        return isOver || !isDown ? null : backoffMs(outageBackoff, failures);
      },
    });
    ended?.(isInfrastructureStatus(response.status));
    return response;
  } catch (error) {
    // The caller's own timeout may end the wait.
    ended?.(isDown || failureOriginOf(error) === 'infrastructure');
    throw error;
  }
}

/** Aborts the call at the end of the rollout, so that a hanging agent does not occupy the model. */
export function signalOf({ context, input, init }: Pick<GatewayCall, 'context' | 'input' | 'init'>): AbortSignal {
  const own = ownSignal(input, init);
  return own === null ? context.signal : AbortSignal.any([own, context.signal]);
}

function ownSignal(input: Parameters<typeof fetch>[0], init: RequestInit | undefined): AbortSignal | null {
  return init?.signal ?? (isRequest(input) ? input.signal : null);
}

/** Headers of a `fetch` call. */
export function headersOf(input: Parameters<typeof fetch>[0], init: RequestInit | undefined): Headers {
  return new Headers(headersInit(input, init));
}

function headersInit(input: Parameters<typeof fetch>[0], init: RequestInit | undefined): HeadersInput {
  return init?.headers ?? (isRequest(input) ? input.headers : {});
}

/** The next fetch. When the global fetch is `own` or wraps it, this is the bare global fetch. */
export function nextFetch(own: typeof fetch, given: typeof fetch | undefined): typeof fetch {
  if (given !== undefined) return given;
  return isWrappedBy(own, globalThis.fetch) ? bareFetch(globalThis.fetch) : globalThis.fetch;
}

/** Resolves when earlier spans are stored, or after `maxFlushMs`. */
async function flushed({ sink }: RolloutContext): Promise<void> {
  let isStored = false;
  const settled = (): void => {
    isStored = true;
  };
  let stored: Promise<void>;
  try {
    // On rejection the spans are lost and the sink reports it; the call proceeds.
    stored = sink.flush().then(settled, settled);
  } catch {
    // Errors of the sink must not reach the agent.
    return;
  }
  // Without pending spans the flush settles within a few microtasks; a timer would cost more than the call.
  for (let turns = 0; turns < turnsOfFlush && !isStored; turns += 1) await null;
  if (isStored) return;
  const waiting = new AbortController();
  const waited = systemClock.sleep(maxFlushMs, waiting.signal).catch(() => {});
  await Promise.race([stored, waited]);
  waiting.abort();
}
