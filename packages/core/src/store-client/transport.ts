import type { z } from 'zod';
import type { Clock } from '../clock.ts';
import { AgentLightningError } from '../errors/agent-lightning-error.ts';
import { parse } from '../parse.ts';
import { strictHeader } from '../protocol/strict-header.ts';
import { errorFromWire } from '../protocol/wire-error.ts';
import { isFinalPythonFault } from '../protocol/wire-python-fault.ts';
import { addressText, withoutPasswords } from '../redaction/address-text.ts';
import { backoffMs } from '../retry.ts';

/** Options of a {@link StoreTransport}. */
export interface StoreTransportOptions {
  /** The server's URL, without `/v1/agl`. */
  readonly baseUrl: string;
  readonly apiKey: string | null;
  readonly fetch: typeof globalThis.fetch;
  readonly clock: Clock;
  /** Timeout of one attempt, in milliseconds, in addition to the requested server wait. */
  readonly requestTimeoutMs: number;
  /** Maximum number of retries after transient failures. */
  readonly maxRetries: number;
  /** How long to retry instead, in milliseconds; null for the number. */
  readonly unreachableAfterMs: number | null;
}

/** One request to a store server. Every request is idempotent, inherently or by key. */
export interface StoreRequest<TAnswer> {
  readonly method: 'GET' | 'POST';
  /** Path below `/v1/agl`, with parameters. */
  readonly path: string;
  readonly body?: unknown;
  /** Schema of the response. */
  readonly answer: z.ZodType<TAnswer>;
  /** Idempotency key of the request. */
  readonly idempotencyKey?: string;
  /** Additional headers. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Requested server wait, in milliseconds. */
  readonly waitMs?: number;
  readonly signal?: AbortSignal | undefined;
}

const retryBackoff = { baseDelayMs: 100, maxDelayMs: 5000 };

/** Sends requests to a store server and validates the responses. */
export class StoreTransport {
  readonly #options: StoreTransportOptions;

  /** @throws AgentLightningError CONFIG for an address with user or password */
  constructor(options: StoreTransportOptions) {
    assertNoCredentials(options.baseUrl);
    this.#options = { ...options, baseUrl: options.baseUrl.replace(/\/+$/, '').replace(/\/v1\/agl$/, '') };
  }

  /**
   * Sends a request, with retries on transient failures.
   *
   * @throws AgentLightningError the error reported by the server, or UNREACHABLE
   */
  async send<TAnswer>(request: StoreRequest<TAnswer>): Promise<TAnswer> {
    const answer = await this.#withRetry(request, async () => {
      const limit = AbortSignal.timeout(Math.ceil(this.#options.requestTimeoutMs + (request.waitMs ?? 0)));
      const response = await this.#fetch(request, limit);
      return JSON.parse(await response.text());
    });
    return parse(request.answer, answer, `Answer of the store to ${request.path}`);
  }

  /**
   * Sends a request with a streamed response, with retries as in {@link send} until the response starts.
   *
   * @throws AgentLightningError as {@link send}
   */
  open(request: Omit<StoreRequest<never>, 'answer'>): Promise<Response> {
    return this.#withRetry(request, async () => {
      const late = new AbortController();
      const timer = setTimeout(() => late.abort(), this.#options.requestTimeoutMs + (request.waitMs ?? 0));
      try {
        return await this.#fetch(request, late.signal);
      } finally {
        clearTimeout(timer);
      }
    });
  }

  async #withRetry<TResult>(request: RequestHead, once: () => Promise<TResult>): Promise<TResult> {
    const { clock, maxRetries, unreachableAfterMs } = this.#options;
    const startMs = clock.now();
    const isOver = (retry: number): boolean =>
      unreachableAfterMs === null ? retry >= maxRetries : clock.now() - startMs >= unreachableAfterMs;
    for (let retry = 0; ; retry += 1) {
      try {
        return await once();
      } catch (cause) {
        if (request.signal?.aborted) throw cause;
        const failure = cause instanceof StoreFailure ? cause : this.#unreachable(request, cause);
        if (!failure.isTransient || isOver(retry)) throw failure.error;
      }
      await clock.sleep(backoffMs(retryBackoff, retry + 1), request.signal);
    }
  }

  async #fetch(request: RequestHead, limit: AbortSignal): Promise<Response> {
    const response = await this.#options.fetch(this.#urlOf(request), {
      method: request.method,
      headers: this.#headers(request),
      signal: request.signal === undefined ? limit : AbortSignal.any([limit, request.signal]),
      ...(request.body === undefined ? {} : { body: JSON.stringify(request.body) }),
    });
    if (response.ok) return response;
    const body = jsonOrText(await response.text());
    throw new StoreFailure(errorFromWire(response.status, body), isTransient(response.status, body));
  }

  #urlOf(request: RequestHead): string {
    return `${this.#options.baseUrl}/v1/agl${request.path}`;
  }

  #unreachable(request: RequestHead, cause: unknown): StoreFailure {
    return new StoreFailure(unreachable(this.#urlOf(request), cause), true);
  }

  #headers(request: RequestHead): Record<string, string> {
    return {
      [strictHeader]: '1',
      ...(request.body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(this.#options.apiKey === null ? {} : { authorization: `Bearer ${this.#options.apiKey}` }),
      ...(request.idempotencyKey === undefined ? {} : { 'idempotency-key': request.idempotencyKey }),
      ...request.headers,
    };
  }
}

/** A request without its response schema. */
type RequestHead = Omit<StoreRequest<unknown>, 'answer'>;

/** Failure of one attempt. */
class StoreFailure extends AgentLightningError {
  readonly error: AgentLightningError;
  readonly isTransient: boolean;

  constructor(error: AgentLightningError, isTransient: boolean) {
    super({ code: error.code, message: error.message, cause: error });
    this.error = error;
    this.isTransient = isTransient;
  }
}

/** Whether a failure is transient. 507 is a full disk, 501 a missing route, and some Python faults are permanent. */
function isTransient(status: number, body: unknown): boolean {
  if (isFinalPythonFault(body)) return false;
  return status === 408 || status === 429 || (status >= 500 && status !== 501 && status !== 507);
}

function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** `fetch` rejects such an address and repeats it in its error. */
function assertNoCredentials(baseUrl: string): void {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : null;
  if (url === null ? !baseUrl.includes('@') : url.username === '' && url.password === '') return;
  throw new AgentLightningError({
    code: 'CONFIG',
    message: `The store's address ${addressText(baseUrl)} has a user or a password in it`,
    remedy: 'Give the key of the store as `apiKey` (for commands, in AGL_STORE_KEY), and the address without it.',
  });
}

function unreachable(url: string, cause: unknown): AgentLightningError {
  const reason = withoutPasswords(cause instanceof Error ? reasonOf(cause) : String(cause));
  return new AgentLightningError({
    code: 'UNREACHABLE',
    message: `The store at ${addressText(url)} cannot be reached: ${reason}`,
    remedy: 'Check that the store server runs at this address (`agl store`), and that its key is right.',
    cause,
  });
}

/** `fetch` reports the reason in the cause of its error. */
function reasonOf(error: Error): string {
  return error.cause instanceof Error && error.cause.message !== '' ? error.cause.message : error.message;
}
