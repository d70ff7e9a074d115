import { Agent, type Dispatcher } from 'undici';
import type { Upstream } from '../gateway-options.ts';
import { isAnsweredHeader } from '../http/forwarded-headers.ts';
import type { CallObservation } from '../observe/call-observation.ts';

/** One HTTP request to an upstream. */
export interface UpstreamRequest {
  /** Below the base URL: `/chat/completions`. */
  readonly path: string;
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  /** Ends the request when the caller has gone, or the gateway ends the call. */
  readonly signal: AbortSignal;
  /** The call that it is for; null for the gateway's own requests. */
  readonly observation: CallObservation | null;
}

/** An upstream's answer, its body not yet read. */
export interface UpstreamAnswer {
  readonly status: number;
  /** By lower-case name; only those that the caller may have use for. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Dispatcher.ResponseData['body'];
}

/** Sends requests to upstreams over connections that are kept open. */
export class UpstreamClient {
  readonly #agent: Agent;

  /** @param timeoutMs - how long an upstream may be silent, in milliseconds */
  constructor(timeoutMs: number) {
    this.#agent = new Agent({ headersTimeout: timeoutMs, bodyTimeout: timeoutMs, keepAliveTimeout: 30_000 });
  }

  /** Resolves with the head of the answer. Rejects with undici's error when there is none. */
  async send(upstream: Upstream, request: UpstreamRequest): Promise<UpstreamAnswer> {
    const url = new URL(upstream.baseUrl + request.path);
    const { statusCode, headers, body } = await this.#agent.request({
      origin: url.origin,
      path: url.pathname + url.search,
      method: request.method,
      headers: { ...request.headers, ...authorization(upstream), ...upstream.headers },
      body: request.body,
      signal: request.signal,
    });
    return { status: statusCode, headers: forwardedHeaders(headers), body };
  }

  /** Cuts what is under way. */
  async close(): Promise<void> {
    await this.#agent.destroy();
  }
}

function authorization(upstream: Upstream): Record<string, string> {
  return upstream.apiKey ? { authorization: `Bearer ${upstream.apiKey}` } : {};
}

function forwardedHeaders(headers: Dispatcher.ResponseData['headers']): Record<string, string> {
  const forwarded: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || !isAnsweredHeader(name)) continue;
    forwarded[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  return forwarded;
}
