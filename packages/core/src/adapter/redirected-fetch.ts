import { systemClock } from '../clock.ts';
import { failureOriginOf, isInfrastructureStatus } from '../errors/failure-origin.ts';
import { currentRollout, type RolloutContext, type RolloutEndpoint } from '../rollout-context.ts';
import { noteSignal } from './abort-reasons.ts';
import type { CallPlace } from './agent-step.ts';
import { bareFetch, liesBeneath, markLayer, placeOfLayers } from './fetch-layer.ts';
import {
  callHeaders,
  gatewayHeaders,
  gatewayUrl,
  type HeadersInput,
  hasHeader,
  placeOfContext,
} from './gateway-request.ts';
import { isRequest, type ModelRequest, readFetch } from './model-request.ts';

/** What {@link redirectedFetch} can be given. */
export interface RedirectedFetchOptions {
  /** What requests are sent with. @default the global fetch at the time of the call */
  readonly fetch?: typeof fetch | undefined;
  /** Which model calls go to the rollout's endpoint: say no to those of a judge. @default all */
  readonly shouldRedirect?: ((call: { readonly url: URL; readonly model: string | null }) => boolean) | undefined;
  /**
   * Where in the trace a call belongs that is made now; null when the framework does not know.
   *
   * @default where the rollout's context says, which `AgentSteps.within` sets
   */
  readonly place?: (() => CallPlace | null) | undefined;
  /** Told of every model call that is redirected, so that its body need not be read a second time. @default nobody is */
  readonly onRequest?: ((request: ModelRequest) => void) | undefined;
}

/** A model call that is on its way to a rollout's endpoint. */
export interface GatewayCall {
  /** What it is sent with. */
  readonly send: typeof fetch;
  readonly request: ModelRequest;
  readonly context: RolloutContext;
  readonly input: Parameters<typeof fetch>[0];
  readonly init: RequestInit | undefined;
  readonly place: CallPlace | null;
}

/** How long a call waits for the spans before it, so that rewards and calls are stored in their order. */
const maxFlushMs = 1000;

/** How many turns of promises it takes at most to say that there is nothing to store. */
const turnsOfFlush = 8;

/**
 * A `fetch` that sends model calls to where their rollout is trained.
 *
 * Within a rollout that has an endpoint, POSTs to a model API go to the attempt's own address at the gateway,
 * with the gateway's key and their place in the trace (`x-agl-*` headers). Everything else passes untouched:
 * outside of a rollout, without an endpoint, other requests, and embeddings, which what is trained does not give.
 * It records nothing, and a call that one of our fetches has sent on already is not redirected again.
 *
 * @example
 * ```ts
 * const client = new OpenAI({ fetch: redirectedFetch() });
 * ```
 */
export function redirectedFetch(options: RedirectedFetchOptions = {}): typeof fetch {
  const { shouldRedirect = () => true, place, onRequest } = options;
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
    const call = { send, request, context, input, init: readInit, place: place?.() ?? placeOfLayers(next) };
    return throughGateway(call, context.endpoint);
  };
  return markLayer(redirected, { inner: options.fetch ?? globalThis.fetch, place });
}

/** Whether what is trained answers such calls: all but embeddings. */
export function isForGateway(request: ModelRequest): boolean {
  return request.api !== 'embeddings';
}

/** Whether a fetch of ours has sent this request to a gateway already. */
export function isRedirected(input: Parameters<typeof fetch>[0], init: RequestInit | undefined): boolean {
  return hasHeader(headersInit(input, init), callHeaders.traceId);
}

/** Sends a model call to a rollout's endpoint, after what was recorded before it is stored. */
export async function throughGateway(call: GatewayCall, endpoint: RolloutEndpoint): Promise<Response> {
  const { send, request, context, input, init } = call;
  // Read before waiting: the framework's word counts for the moment of the call.
  const given = headersInit(input, init);
  const headers = gatewayHeaders(given, { context, endpoint, place: call.place ?? placeOfContext(context) });
  await flushed(context);
  try {
    const response = await send(gatewayUrl(request, endpoint), {
      ...init,
      method: 'POST',
      // A fetch of the user's own may use the methods of what it is given by its client; the global one does not.
      headers: given instanceof Headers && send !== bareFetch(globalThis.fetch) ? new Headers(headers) : headers,
      body: request.text,
      signal: signalOf(call),
    });
    context.onModelCall?.(isInfrastructureStatus(response.status));
    return response;
  } catch (error) {
    context.onModelCall?.(failureOriginOf(error) === 'infrastructure');
    throw error;
  }
}

/** The rollout's end is the call's end too: an agent that hangs in a call must not keep the model busy. */
export function signalOf({ context, input, init }: Pick<GatewayCall, 'context' | 'input' | 'init'>): AbortSignal {
  const own = ownSignal(input, init);
  return own === null ? context.signal : AbortSignal.any([own, context.signal]);
}

function ownSignal(input: Parameters<typeof fetch>[0], init: RequestInit | undefined): AbortSignal | null {
  return init?.signal ?? (isRequest(input) ? input.signal : null);
}

/** The headers that a `fetch` was called with. */
export function headersOf(input: Parameters<typeof fetch>[0], init: RequestInit | undefined): Headers {
  return new Headers(headersInit(input, init));
}

function headersInit(input: Parameters<typeof fetch>[0], init: RequestInit | undefined): HeadersInput {
  return init?.headers ?? (isRequest(input) ? input.headers : {});
}

/** What a fetch of ours passes on to. Where it is, or lies beneath, the global one, that is the bare one. */
export function nextFetch(own: typeof fetch, given: typeof fetch | undefined): typeof fetch {
  if (given !== undefined) return given;
  return liesBeneath(own, globalThis.fetch) ? bareFetch(globalThis.fetch) : globalThis.fetch;
}

/** Resolves when the spans so far are stored, or when waiting longer would only hold up the agent. */
async function flushed({ sink }: RolloutContext): Promise<void> {
  let isStored = false;
  const settled = (): void => {
    isStored = true;
  };
  let stored: Promise<void>;
  try {
    // Where it rejects the spans are lost, and the sink knows of it; the call is made all the same.
    stored = sink.flush().then(settled, settled);
  } catch {
    // A sink must not throw; the agent is not to notice where one does.
    return;
  }
  // Where nothing is waiting to be stored that is known at once, and a timer would cost more than the whole call.
  for (let turns = 0; turns < turnsOfFlush && !isStored; turns += 1) await null;
  if (isStored) return;
  const waiting = new AbortController();
  const waited = systemClock.sleep(maxFlushMs, waiting.signal).catch(() => {});
  await Promise.race([stored, waited]);
  waiting.abort();
}
