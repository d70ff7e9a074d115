import { once } from 'node:events';
import type { Readable } from 'node:stream';
import type { Clock } from '@agentlightning/core';
import { Agent, type Dispatcher } from 'undici';
import { isReturnedHeader } from '../http/forwarded-headers.ts';
import type { CallObservation } from '../observe/call-observation.ts';
import type { RegisteredUpstream } from './registered-upstream.ts';

/** One HTTP request to an upstream. */
export interface UpstreamRequest {
  /** Below the base URL: `/chat/completions`. */
  readonly path: string;
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  /** The body for an upstream that refuses requests for token ids; null when the body requests none. */
  readonly plainBody: (() => string) | null;
  /** Aborts when the client disconnects, or the gateway ends the call. */
  readonly signal: AbortSignal;
  /** Whether an event stream is returned as a stream; if not, every response is read to its end. */
  readonly isStreamable: boolean;
  /** The call it belongs to; null for the gateway's own requests. */
  readonly observation: CallObservation | null;
}

/** The response of an upstream. */
export interface UpstreamResponse {
  readonly status: number;
  /** By lower-case name; only those that are returned to the client. */
  readonly headers: Readonly<Record<string, string>>;
  /** The upstream's own id of the request; null when it gave none. */
  readonly requestId: string | null;
  /** When its head arrived, or the first chunk of a stream, in Unix milliseconds. */
  readonly firstByteTimeMs: number;
  /** The whole body, or a stream whose first chunk has arrived. */
  readonly body: string | Readable;
}

/** What a client works with. */
export interface UpstreamClientOptions {
  /** Limit for a connection to be established, in milliseconds. */
  readonly connectTimeoutMs: number;
  /** Limit for the silence of an upstream, in milliseconds. */
  readonly silenceTimeoutMs: number;
  readonly clock: Clock;
}

/** Sends requests to upstreams over pooled connections. */
export class UpstreamClient {
  readonly #agent: Agent;
  readonly #clock: Clock;

  constructor(options: UpstreamClientOptions) {
    this.#clock = options.clock;
    this.#agent = new Agent({
      connect: { timeout: options.connectTimeoutMs },
      headersTimeout: options.silenceTimeoutMs,
      bodyTimeout: options.silenceTimeoutMs,
      keepAliveTimeout: 30_000,
    });
  }

  /** Resolves with the whole response, or with a stream that has begun. Rejects with undici's error otherwise. */
  async send(upstream: RegisteredUpstream, request: UpstreamRequest): Promise<UpstreamResponse> {
    const { origin, pathname, search } = new URL(upstream.baseUrl + request.path);
    const { statusCode, headers, body } = await this.#agent.request({
      origin,
      path: pathname + search,
      method: request.method,
      headers: { ...request.headers, ...keyHeaders(upstream, request.path), ...upstream.headers },
      body: request.body,
      signal: request.signal,
    });
    const head = { status: statusCode, headers: returnedHeaders(headers), requestId: requestIdOf(headers) };
    const isStream = statusCode < 300 && head.headers['content-type']?.startsWith('text/event-stream') === true;
    if (isStream && request.isStreamable) {
      // Errors are reported to its reader; without a listener, one after its end would be uncaught.
      body.on('error', () => undefined);
      // Until the first chunk arrives, the request can be sent to another upstream.
      await once(body, 'readable');
      return { ...head, firstByteTimeMs: this.#clock.now(), body };
    }
    const firstByteTimeMs = this.#clock.now();
    return { ...head, firstByteTimeMs, body: await body.text() };
  }

  /** Sends a health check. @returns the status of the response; rejects with undici's error when there is none */
  async check(upstream: RegisteredUpstream, signal: AbortSignal): Promise<number> {
    const base = new URL(`${upstream.baseUrl}/`);
    const url = new URL(upstream.healthPath, base);
    const { statusCode, body } = await this.#agent.request({
      origin: base.origin,
      path: url.pathname + url.search,
      method: 'GET',
      headers: { ...authorization(upstream), ...upstream.headers },
      signal,
    });
    await body.dump();
    return statusCode;
  }

  /** Closes all connections, including those in use. */
  async close(): Promise<void> {
    await this.#agent.destroy();
  }
}

type Headers = Dispatcher.ResponseData['headers'];

function returnedHeaders(headers: Headers): Record<string, string> {
  const returned: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && isReturnedHeader(name)) returned[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  return returned;
}

function requestIdOf(headers: Headers): string | null {
  const requestId = headers['x-request-id'] ?? headers['request-id'];
  return typeof requestId === 'string' ? requestId.slice(0, 128) : null;
}

/** Anthropic's API takes API keys in a header of its own; a bearer token is for OAuth. */
function keyHeaders(upstream: RegisteredUpstream, path: string): Record<string, string> {
  if (!path.startsWith('/messages')) return authorization(upstream);
  return upstream.apiKey ? { 'x-api-key': upstream.apiKey } : {};
}

function authorization(upstream: RegisteredUpstream): Record<string, string> {
  return upstream.apiKey ? { authorization: `Bearer ${upstream.apiKey}` } : {};
}
