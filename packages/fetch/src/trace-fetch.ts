import { type Clock, currentRollout, type RolloutContext, withRollout } from '@agentlightning/core';
import {
  bareFetch,
  headersOf,
  isForGateway,
  isRedirected,
  type ModelRequest,
  markLayer,
  nextFetch,
  placeOfLayers,
  readFetch,
  signalOf,
  throughGateway,
} from '@agentlightning/core/adapter';
import { SecretFields, systemClock } from '@agentlightning/core/internal';
import { OpenModelCall } from './open-model-call.ts';
import { recordedResponse } from './recorded-response.ts';

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
  /**
   * Further names of fields whose values are redacted in the bodies that are recorded here, at any depth.
   *
   * @default the usual names of credentials, such as `api_key` and `extra_headers`
   */
  readonly secretFields?: readonly string[];
  /** Where the times of recorded calls come from. @default systemClock */
  readonly clock?: Clock;
}

/**
 * A `fetch` that makes an agent trainable.
 *
 * Within a rollout it sends model calls to the attempt's own address at the gateway, which records them; where
 * there is no gateway, it records them itself. Embeddings are recorded here too: the gateway has none. Everything
 * else, and everything outside of a rollout, passes through untouched. Many rollouts may run at the same time.
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
    if (request === null || isSentAlready(request, context, init)) return next(input, readInit);
    if (!shouldTrace({ url: request.url, model: request.model })) return next(input, readInit);
    // Whatever of ours lies beneath would send or record the call a second time.
    const call: ModelFetch = { send: bareFetch(next), request, context, input, init: readInit };
    const isSentOn = redirect && isForGateway(request);
    if (isSentOn && context.endpoint !== null)
      return throughGateway({ ...call, place: placeOfLayers(next) }, context.endpoint);
    return recordedHere(call, { clock, secretFields });
  };
  return markLayer(traced, { inner: options.fetch ?? globalThis.fetch });
}

/** A model call as the agent made it. */
interface ModelFetch {
  readonly send: typeof fetch;
  readonly request: ModelRequest;
  readonly context: RolloutContext;
  readonly input: Parameters<typeof fetch>[0];
  readonly init: RequestInit | undefined;
}

/** A recorded call that is being sent. */
interface SentCall {
  readonly request: ModelRequest;
  readonly signal: AbortSignal;
}

/**
 * The recorded calls that are being sent, by what they are sent in. A fetch of the user's own may send what it was given on
 * with another signal, or as another request, through one of ours, and may make other calls there too.
 */
const sending: WeakMap<RolloutContext, SentCall> = new WeakMap();

/** Whether a request is the one that is being sent here: by its signal, or by what is said in it. */
function isSentAlready(request: ModelRequest, context: RolloutContext, init: RequestInit | undefined): boolean {
  const sent = sending.get(context);
  return sent !== undefined && (init?.signal === sent.signal || saidIn(request) === saidIn(sent.request));
}

/** What is said to the model, which stays the same where the user's own fetch adds parameters. */
function saidIn({ body }: ModelRequest): string {
  return JSON.stringify([body['messages'], body['input'], body['prompt']]);
}

async function recordedHere(
  call: ModelFetch,
  recording: { readonly clock: Clock; readonly secretFields: SecretFields },
): Promise<Response> {
  const { send, request, context, input, init } = call;
  const inside = { ...context };
  const signal = signalOf(call);
  sending.set(inside, { request, signal });
  const open = new OpenModelCall({ context, request, headers: headersOf(input, init), ...recording });
  try {
    const response = await withRollout(inside, () => send(input, { ...init, signal }));
    return recordedResponse(response, open);
  } catch (error) {
    open.finish(`the call failed: ${error instanceof Error ? error.message : String(error)}`);
    throw error;
  } finally {
    // Connections that are kept may keep what they were made in.
    sending.delete(inside);
  }
}
