import { once } from 'node:events';
import type { Readable } from 'node:stream';
import type { Clock } from '@agentlightning/core';
import { headerNames } from '@agentlightning/core/protocol';
import { Agent, type Dispatcher } from 'undici';
import type { CallObservation } from '../wire/call-observation.ts';
import { isReturnedHeader } from '../wire/forwarded-headers.ts';
import type { RegisteredUpstream } from './registered-upstream.ts';
import type { RequestDialect } from './request-dialect.ts';

/** The abort reason of a request whose upstream sent no first byte in time. */
export class UpstreamTimeout extends Error {
  override readonly name = 'UpstreamTimeout';
}

/** Whether an upstream sent nothing until a timeout, once it was connected. */
export function isUpstreamTimeout(error: unknown): boolean {
  if (error instanceof UpstreamTimeout) return true;
  return error instanceof Error && 'code' in error && error.code === 'UND_ERR_BODY_TIMEOUT';
}

/** One HTTP request to an upstream. */
export interface UpstreamRequest {
  /** Below the base URL: `/chat/completions`. */
  readonly path: string;
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  /** The body for an upstream with other requirements; null when there is only one form of it. */
  readonly adapted: ((dialect: RequestDialect) => string) | null;
  /** Aborts when the client disconnects, or the gateway ends the call. */
  readonly signal: AbortSignal;
  /** Whether the client requested a stream. */
  readonly isStreamed: boolean;
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

/** The wait of a request for the first byte of its response. */
export interface FirstByteWait {
  readonly timeoutMs: number;
  /** Whether it is aborted when health checks find the upstream down. */
  readonly canFailOver: boolean;
}

/** Options of a client. */
export interface UpstreamClientOptions {
  /** Limit for a connection to be established, in milliseconds. */
  readonly connectTimeoutMs: number;
  /** Limit for the silence within a response, in milliseconds. */
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
      // The first byte has a separate timer, which covers the first chunk of a stream as well.
      headersTimeout: 0,
      bodyTimeout: options.silenceTimeoutMs,
      keepAliveTimeout: 30_000,
    });
  }

  /**
   * Sends a request. Rejects with undici's error, or with `UpstreamTimeout` when the first byte does not arrive in time.
   *
   * @returns the whole response, or a stream that has begun
   */
  async send(upstream: RegisteredUpstream, request: UpstreamRequest, wait: FirstByteWait): Promise<UpstreamResponse> {
    const { head, body } = await this.#firstByte(upstream, request, wait);
    const firstByteTimeMs = this.#clock.now();
    return { ...head, firstByteTimeMs, body: isStreamed(head, request) ? body : await body.text() };
  }

  /** The head of a response; for a stream, once its first chunk has arrived: until then the call can fail over. */
  async #firstByte(
    upstream: RegisteredUpstream,
    request: UpstreamRequest,
    wait: FirstByteWait,
  ): Promise<StartedResponse> {
    const silence = new AbortController();
    using _wait = this.#wait(upstream, silence, wait);
    const { origin, pathname, search } = new URL(upstream.baseUrl + request.path);
    const { statusCode, headers, body } = await this.#agent.request({
      origin,
      path: pathname + search,
      method: request.method,
      headers: { ...request.headers, ...keyHeaders(upstream, request.path), ...upstream.headers },
      body: request.body,
      signal: AbortSignal.any([request.signal, silence.signal]),
    });
    const head = { status: statusCode, headers: returnedHeaders(headers), requestId: requestIdOf(headers) };
    if (isStreamed(head, request)) {
      // Errors are reported to its reader; without a listener, one after its end would be uncaught.
      body.on('error', () => undefined);
      // A body that is empty ends without becoming readable.
      await Promise.race([once(body, 'readable'), once(body, 'end')]);
    }
    return { head, body };
  }

  /** Aborts a request after the first-byte timeout, or when health checks find its upstream down. */
  #wait(upstream: RegisteredUpstream, silence: AbortController, { timeoutMs, canFailOver }: FirstByteWait): Disposable {
    const timer = setTimeout(
      () => silence.abort(new UpstreamTimeout(`no first byte within ${timeoutMs} ms`)),
      timeoutMs,
    );
    if (canFailOver) upstream.waiting.set(silence, this.#clock.now());
    return {
      [Symbol.dispose]: () => {
        clearTimeout(timer);
        upstream.waiting.delete(silence);
      },
    };
  }

  /** Sends a health check. @returns the status of the response; rejects with undici's error without a response */
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

type ResponseHead = Pick<UpstreamResponse, 'status' | 'headers' | 'requestId'>;

interface StartedResponse {
  readonly head: ResponseHead;
  readonly body: Dispatcher.ResponseData['body'];
}

function isStreamed({ status, headers }: ResponseHead, { isStreamable }: UpstreamRequest): boolean {
  return isStreamable && status < 300 && headers['content-type']?.startsWith('text/event-stream') === true;
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
  const requestId = headers[headerNames.requestId] ?? headers['request-id'];
  return typeof requestId === 'string' ? requestId.slice(0, 128) : null;
}

/** Anthropic's API takes API keys in a separate header; a bearer token is for OAuth. */
function keyHeaders(upstream: RegisteredUpstream, path: string): Record<string, string> {
  if (!path.startsWith('/messages')) return authorization(upstream);
  return upstream.apiKey ? { 'x-api-key': upstream.apiKey } : {};
}

function authorization(upstream: RegisteredUpstream): Record<string, string> {
  return upstream.apiKey ? { authorization: `Bearer ${upstream.apiKey}` } : {};
}
