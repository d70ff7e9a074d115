import { AgentLightningError, type ErrorCode } from '@agentlightning/core';
import { addressText, backoffMs, errorCatalogue, systemClock } from '@agentlightning/core/internal';
import { optionalObject, recordOf } from './json.ts';

/** Options of a {@link ServerTransport}. */
export interface TransportOptions {
  /** The URL of the server, without a path. */
  readonly url: string;
  readonly apiKey: string;
  readonly fetch: typeof globalThis.fetch;
  /** Retry limit for requests to an unreachable server, in milliseconds. */
  readonly unreachableAfterMs: number;
  /** Timeout of one request, in milliseconds. */
  readonly requestTimeoutMs: number;
}

/** A request to the server. */
export interface ServerRequest {
  readonly method?: 'GET' | 'POST' | 'PUT';
  /** JSON; bytes are sent unchanged. @default none */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Requested server wait, in milliseconds. @default 0 */
  readonly waitMs?: number;
  readonly signal?: AbortSignal | undefined;
}

const backoff = { baseDelayMs: 200, maxDelayMs: 5000 };

/** Sends requests to the server, and repeats them while it is unreachable. */
export class ServerTransport {
  readonly #options: TransportOptions;

  constructor(options: TransportOptions) {
    this.#options = options;
  }

  get url(): string {
    return this.#options.url;
  }

  get apiKey(): string {
    return this.#options.apiKey;
  }

  /**
   * Sends a request. A repetition has the same `idempotency-key`.
   *
   * @returns the JSON of the response
   * @throws AgentLightningError that the server reports, or UNREACHABLE
   */
  async send(path: string, request: ServerRequest = {}): Promise<unknown> {
    const headers = { 'idempotency-key': crypto.randomUUID(), ...request.headers };
    return await this.#retried(request.signal, async () => {
      const limit = AbortSignal.timeout(this.#options.requestTimeoutMs + (request.waitMs ?? 0));
      const response = await this.#fetch(path, { ...request, headers }, limit);
      return await response.json();
    });
  }

  /** Opens a stream. @throws AgentLightningError as {@link send} */
  async open(path: string, request: ServerRequest): Promise<Response> {
    return await this.#retried(request.signal, () => this.#fetch(path, request, null));
  }

  async #retried<TResult>(signal: AbortSignal | undefined, once: () => Promise<TResult>): Promise<TResult> {
    const startMs = systemClock.now();
    for (let failures = 1; ; failures += 1) {
      try {
        return await once();
      } catch (error) {
        if (signal?.aborted) throw error;
        const known = AgentLightningError.isInstance(error) ? error : unreachable(this.#options.url, error);
        const isOver = systemClock.now() - startMs >= this.#options.unreachableAfterMs;
        if (!isTransient(known) || isOver) throw known;
      }
      await systemClock.sleep(backoffMs(backoff, failures), signal);
    }
  }

  async #fetch(path: string, request: ServerRequest, limit: AbortSignal | null): Promise<Response> {
    const { method = 'GET', body, headers, signal } = request;
    const isBytes = body instanceof Uint8Array;
    const signals = [limit, signal].filter((one) => one !== null && one !== undefined);
    const response = await this.#options.fetch(`${this.#options.url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${this.#options.apiKey}`,
        'x-agentlightning-strict': '1',
        ...(body === undefined || isBytes ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: isBytes ? new Uint8Array(body) : JSON.stringify(body) }),
      ...(signals.length === 0 ? {} : { signal: AbortSignal.any(signals) }),
    });
    if (response.ok) return response;
    throw errorOf(response.status, await response.text());
  }
}

/** Statuses of a server that starts, stops or is overloaded, and of a proxy in front of it. */
const transientStatuses: ReadonlySet<unknown> = new Set([408, 429, 500, 502, 503, 504]);

function isTransient({ code, details }: AgentLightningError): boolean {
  return code === 'UNREACHABLE' || transientStatuses.has(details['status']);
}

/** The error in a response; one of a proxy has only a status. */
function errorOf(status: number, text: string): AgentLightningError {
  try {
    const error = recordOf(recordOf(JSON.parse(text), 'the error')['error'], 'the error');
    const { code, message, remedy } = error;
    if (isErrorCode(code) && typeof message === 'string' && typeof remedy === 'string') {
      return new AgentLightningError({
        code,
        message,
        remedy,
        details: { ...optionalObject(error, 'details'), status },
      });
    }
  } catch {
    // Not a response of the server.
  }
  return new AgentLightningError({
    code: codeOf(status),
    message: `the server responded with status ${status}: ${text.slice(0, 200)}`,
    remedy: 'Check the URL of the server, its key, and the proxy in front of it.',
    details: { status },
  });
}

function isErrorCode(value: unknown): value is ErrorCode {
  return typeof value === 'string' && Object.hasOwn(errorCatalogue, value);
}

function codeOf(status: number): ErrorCode {
  if (status === 401) return 'UNAUTHENTICATED';
  if (status === 403) return 'PERMISSION_DENIED';
  if (status === 404) return 'NOT_FOUND';
  return status >= 500 ? 'UNREACHABLE' : 'VALIDATION';
}

function unreachable(url: string, cause: unknown): AgentLightningError {
  const inner = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause;
  return new AgentLightningError({
    code: 'UNREACHABLE',
    message: `the server at ${addressText(url)} cannot be reached: ${inner instanceof Error ? inner.message : String(inner)}`,
    remedy: 'Check that `agl server` runs at this URL.',
    cause,
  });
}
