import {
  type Clock,
  currentRollout,
  type RolloutContext,
  type RolloutEndpoint,
  systemClock,
} from '@agentlightning/core';
import { gatewayHeaders, gatewayUrl } from './gateway-request.ts';
import { isRequest, type ModelRequest, readFetch } from './model-request.ts';
import { OpenModelCall } from './open-model-call.ts';
import { recordedResponse } from './recorded-response.ts';
import { markTraced, untraced } from './untraced-fetch.ts';

/** What {@link traceFetch} can be given. */
export interface TraceFetchOptions {
  /** What requests are sent with. @default the global fetch at the time of the call */
  readonly fetch?: typeof fetch;
  /**
   * Whether model calls go to the rollout's endpoint, where it has one. When false, they go where the agent
   * sends them, and are recorded here, mostly without tokens.
   *
   * @default true
   */
  readonly redirect?: boolean;
  /**
   * Which model calls belong to the agent that is trained. The others are sent on untouched and unrecorded:
   * say no to those of a judge, for example.
   *
   * @default all
   */
  readonly shouldTrace?: (call: { readonly url: URL; readonly model: string | null }) => boolean;
  /** Where the times of recorded calls come from. @default systemClock */
  readonly clock?: Clock;
}

/** How long a call waits for the spans before it, so that rewards and calls are stored in their order. */
const maxFlushMs = 1000;

/**
 * A `fetch` that makes an agent trainable.
 *
 * Within a rollout it sends model calls to the attempt's own address at the gateway, which records them; where
 * there is no gateway, it records them itself. Embeddings are recorded here too: the gateway has none. Everything else, and everything outside of a rollout, passes through
 * untouched. Many rollouts may run at the same time.
 *
 * @example
 * ```ts
 * const client = new OpenAI({ fetch: traceFetch() });
 * ```
 */
export function traceFetch(options: TraceFetchOptions = {}): typeof fetch {
  const { redirect = true, shouldTrace = () => true, clock = systemClock } = options;
  const traced: typeof fetch = async (input, init) => {
    const send = untraced(options.fetch ?? globalThis.fetch);
    const context = currentRollout();
    if (context === null) return send(input, init);
    const read = await readFetch(input, init);
    const { request } = read;
    if (request === null || !shouldTrace({ url: request.url, model: request.model })) return send(input, read.init);
    const headers = headersOf(input, init);
    const call: ModelFetch = { send, request, context, input, init: read.init, headers };
    // What is trained gives no embeddings: those stay with whoever the agent asks for them.
    const isRedirected = redirect && request.api !== 'embeddings';
    if (isRedirected && context.endpoint !== null) return throughGateway(call, context.endpoint);
    return recordedHere(call, clock);
  };
  return markTraced(traced, options.fetch ?? globalThis.fetch);
}

/** A model call as the agent made it. */
interface ModelFetch {
  readonly send: typeof fetch;
  readonly request: ModelRequest;
  readonly context: RolloutContext;
  readonly input: Parameters<typeof fetch>[0];
  readonly init: RequestInit | undefined;
  readonly headers: Headers;
}

async function throughGateway(call: ModelFetch, endpoint: RolloutEndpoint): Promise<Response> {
  const { send, request, context, init } = call;
  await flushed(context);
  return send(gatewayUrl(request, endpoint), {
    ...init,
    method: 'POST',
    headers: gatewayHeaders(call.headers, context, endpoint),
    body: request.text,
    signal: signalOf(call),
  });
}

/** The rollout's end is the call's end too: an agent that hangs in a call must not keep the model busy. */
function signalOf({ context, input, init }: ModelFetch): AbortSignal {
  const own = init?.signal ?? (isRequest(input) ? input.signal : null);
  return own === null ? context.signal : AbortSignal.any([own, context.signal]);
}

async function recordedHere(call: ModelFetch, clock: Clock): Promise<Response> {
  const { send, request, context, input, init } = call;
  const open = new OpenModelCall({ context, request, headers: call.headers, clock });
  try {
    return recordedResponse(await send(input, { ...init, signal: signalOf(call) }), open);
  } catch (error) {
    open.finish(`the call failed: ${error instanceof Error ? error.message : String(error)}`);
    throw error;
  }
}

/** Resolves when the spans so far are stored, or when waiting longer would only hold up the agent. */
async function flushed(context: RolloutContext): Promise<void> {
  const isStored = new AbortController();
  const waited = systemClock.sleep(maxFlushMs, isStored.signal).catch(() => {});
  await Promise.race([context.sink.flush().catch(() => {}), waited]);
  isStored.abort();
}

function headersOf(input: Parameters<typeof fetch>[0], init: RequestInit | undefined): Headers {
  return new Headers(init?.headers ?? (isRequest(input) ? input.headers : undefined));
}
