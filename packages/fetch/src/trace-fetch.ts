import { type Clock, currentRollout, type RolloutContext, withRollout } from '@agentlightning/core';
import type { ModelRequest } from '@agentlightning/core/adapter';
import {
  bareFetch,
  headersOf,
  isForGateway,
  isRedirected,
  markLayer,
  nextFetch,
  positionOfLayers,
  readFetch,
  SecretFields,
  signalOf,
  systemClock,
  tapResponse,
  throughGateway,
} from '@agentlightning/core/internal';
import { OpenModelCall } from './open-model-call.ts';

/** Options of {@link traceFetch}. */
export interface TraceFetchOptions {
  /** The function that sends requests. @default the global fetch at the time of the call */
  readonly fetch?: typeof fetch;
  /**
   * Whether model calls are redirected to the rollout's endpoint, if it has one. When false, they are sent unchanged and
   * recorded locally, usually without tokens.
   *
   * @default true
   */
  readonly redirect?: boolean;
  /**
   * Selects the model calls of the trained agent; return false for a judge, for example. Other calls are neither
   * redirected nor recorded.
   *
   * @default all
   */
  readonly shouldTrace?: (call: { readonly url: URL; readonly model: string | null }) => boolean;
  /**
   * Additional field names whose values are redacted in locally recorded bodies, at any depth.
   *
   * @default the usual names of credentials, such as `api_key` and `extra_headers`
   */
  readonly secretFields?: readonly string[];
  /** The clock for the times of recorded calls. @default systemClock */
  readonly clock?: Clock;
}

/**
 * Returns a `fetch` that makes an agent trainable.
 *
 * Within a rollout, model calls are sent to the attempt's URL at the gateway, which records them. Without a gateway they
 * are recorded locally, as are embeddings, which the gateway does not serve. All other requests, and all requests outside
 * a rollout, pass through unchanged. Concurrent rollouts are kept separate.
 *
 * @example
 * ```ts
 * const client = new OpenAI({ fetch: traceFetch() });
 * ```
 */
export function traceFetch(options: TraceFetchOptions = {}): typeof fetch {
  const { redirect = true, shouldTrace = () => true, clock = systemClock } = options;
  const secretFields = new SecretFields(options.secretFields);
  const traced: typeof fetch = async (input, init) => {
    const next = nextFetch(traced, options.fetch);
    const context = currentRollout();
    if (context === null || isRedirected(input, init)) return next(input, init);
    const read = readFetch(input, init);
    const { request, init: readInit } = read instanceof Promise ? await read : read;
    if (request === null || isInProgress(request, context, init)) return next(input, readInit);
    if (!shouldTrace({ url: request.url, model: request.model })) return next(input, readInit);
    // A traced fetch further down would redirect or record the call a second time.
    const call: ModelFetch = { send: bareFetch(next), request, context, input, init: readInit };
    const isRedirectedCall = redirect && isForGateway(request);
    if (isRedirectedCall && context.endpoint !== null)
      return throughGateway({ ...call, position: positionOfLayers(next) }, context.endpoint);
    return recordCall(call, { clock, secretFields });
  };
  return markLayer(traced, { inner: options.fetch ?? globalThis.fetch });
}

/** A model call with the agent's original arguments. */
interface ModelFetch {
  readonly send: typeof fetch;
  readonly request: ModelRequest;
  readonly context: RolloutContext;
  readonly input: Parameters<typeof fetch>[0];
  readonly init: RequestInit | undefined;
}

/** A recorded call in progress. */
interface CallInProgress {
  readonly request: ModelRequest;
  readonly signal: AbortSignal;
}

/**
 * Recorded calls in progress, by the context of their request. A user's fetch may forward its request with another signal
 * or as another request through a traced fetch, and may make further model calls there.
 */
const callsInProgress: WeakMap<RolloutContext, CallInProgress> = new WeakMap();

/** Whether a request is the recorded call in progress, by its signal or its prompt. */
function isInProgress(request: ModelRequest, context: RolloutContext, init: RequestInit | undefined): boolean {
  const sent = callsInProgress.get(context);
  return sent !== undefined && (init?.signal === sent.signal || promptOf(request) === promptOf(sent.request));
}

/** The prompt, which stays the same when the user's fetch adds parameters. */
function promptOf({ body }: ModelRequest): string {
  return JSON.stringify([body['messages'], body['input'], body['prompt']]);
}

async function recordCall(
  call: ModelFetch,
  recording: { readonly clock: Clock; readonly secretFields: SecretFields },
): Promise<Response> {
  const { send, request, context, input, init } = call;
  const inside = { ...context };
  const signal = signalOf(call);
  callsInProgress.set(inside, { request, signal });
  const open = new OpenModelCall({ context, request, headers: headersOf(input, init), ...recording });
  try {
    const response = await withRollout(inside, () => send(input, { ...init, signal }));
    return recordResponse(response, open);
  } catch (error) {
    open.finish(`the call failed: ${error instanceof Error ? error.message : String(error)}`);
    throw error;
  } finally {
    // A pooled connection may retain the context in which it was opened.
    callsInProgress.delete(inside);
  }
}

/** Wraps a response so that its bytes are recorded while the agent reads them. */
function recordResponse(response: Response, call: OpenModelCall): Response {
  call.responseStarted(response);
  if (response.body === null) call.ended();
  return tapResponse(response, {
    take: (bytes) => call.take(bytes),
    ended: () => call.ended(),
    cancelled: () => call.cancelled(),
    failed: (error) =>
      call.finish(`the response was interrupted: ${error instanceof Error ? error.message : String(error)}`),
  });
}
