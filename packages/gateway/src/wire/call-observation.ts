/** State of a model call while it is proxied, for metrics, logs and headers. */
export class CallObservation {
  /** The client's `x-request-id`, or a new one: correlates the logs of client, gateway and upstream. */
  readonly requestId: string;
  /** The client's API, such as `chat-completions`. */
  readonly api: string;
  /** Arrival, in Unix milliseconds. */
  readonly startTimeMs: number;
  /** The attempt it belongs to; null for none. */
  attempt: { readonly rolloutId: string; readonly attemptId: string } | null = null;
  /** Model name at the upstream; null when the call failed before routing. */
  model: string | null = null;
  /** Whether the response is streamed. */
  isStreamed = false;
  /** Id of the last upstream tried; null for none. */
  upstream: string | null = null;
  /** Number of requests to upstreams. */
  tries = 0;
  /** Time spent waiting for upstreams, in queues and in backoff, in milliseconds. */
  upstreamMs = 0;
  /** The upstream's own id of the request; null for none. */
  upstreamRequestId: string | null = null;

  constructor(call: { readonly requestId: string; readonly api: string; readonly startTimeMs: number }) {
    this.requestId = call.requestId;
    this.api = call.api;
    this.startTimeMs = call.startTimeMs;
  }
}
