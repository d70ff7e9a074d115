/** What is known of one model call while it goes through the gateway: for metrics, logs and headers. */
export class CallObservation {
  /** The caller's `x-request-id`, or a new one: it joins the logs of client, gateway and upstream. */
  readonly requestId: string;
  /** Which API it speaks, such as `chat-completions`. */
  readonly api: string;
  /** When it came, in Unix milliseconds. */
  readonly startTimeMs: number;
  /** The attempt that it belongs to; null when it belongs to none. */
  attempt: { readonly rolloutId: string; readonly attemptId: string } | null = null;
  /** What the upstream knows the model as; null when the call came to nothing before that was known. */
  model: string | null = null;
  /** Whether the answer comes as a stream. */
  isStreamed = false;
  /** The id of the upstream that was asked last; null when none was. */
  upstream: string | null = null;
  /** How often an upstream was asked. */
  tries = 0;
  /** How long the call waited for upstreams, for their limits and between tries, in milliseconds. */
  upstreamMs = 0;
  /** The upstream's own id of the request; null when it gave none. */
  upstreamRequestId: string | null = null;

  constructor(call: { readonly requestId: string; readonly api: string; readonly startTimeMs: number }) {
    this.requestId = call.requestId;
    this.api = call.api;
    this.startTimeMs = call.startTimeMs;
  }
}
