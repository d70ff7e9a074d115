import type { z } from 'zod';
import { AgentLightningError } from '../base/agent-lightning-error.ts';
import type { Clock } from '../base/clock.ts';
import { headerNames } from '../base/header-names.ts';
import { encode, parse } from '../base/parse.ts';
import { backoffMs } from '../base/retry.ts';
import { pathParameters, type StoreRoute } from '../protocol/routes/store-route.ts';
import { assertId } from '../protocol/wire/assert-id.ts';
import { errorFromWire } from '../protocol/wire/wire-error.ts';
import { isFinalPythonFault } from '../protocol/wire/wire-python-fault.ts';
import { addressText, withoutPasswords } from '../redaction/address-text.ts';

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
  /** Retry limit in milliseconds, instead of `maxRetries`; null for none. */
  readonly unreachableAfterMs: number | null;
}

/** The variable parts of a request. Every request is idempotent, inherently or by a key. */
export interface RouteCall<TInput> {
  /** Ids for the parameters of the route's path, in order. */
  readonly parameters?: readonly string[];
  readonly input?: TInput;
  /** A body that is not JSON. */
  readonly bytes?: Uint8Array<ArrayBuffer>;
  /** Whether a repetition has the same effect, so that no idempotency key is needed. @default false */
  readonly isRepeatable?: boolean;
  /** Additional headers. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Requested server wait, in milliseconds. */
  readonly waitMs?: number;
  readonly signal?: AbortSignal | undefined;
}

/** A prepared request. */
interface StoreRequest {
  readonly url: string;
  readonly init: RequestInit & { readonly duplex?: 'half' };
  readonly waitMs: number;
  readonly signal: AbortSignal | undefined;
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
   * @throws AgentLightningError the error reported by the server, or UNREACHABLE; VALIDATION for an invalid input
   */
  async call<TInput, TOutput>(route: StoreRoute<TInput, TOutput>, call: RouteCall<TInput> = {}): Promise<TOutput> {
    const request = this.#prepare(route, call);
    const json = await this.#withRetry(request, async () => {
      const limit = AbortSignal.timeout(Math.ceil(this.#options.requestTimeoutMs + request.waitMs));
      const response = await this.#fetch(request, limit);
      return JSON.parse(await response.text());
    });
    return parse(responseOf(route), json, `Response of the store to ${route.path}`);
  }

  /**
   * Sends a request with a streamed response, with retries as in {@link call} until the response starts.
   *
   * @throws AgentLightningError as {@link call}
   */
  open<TInput>(route: StoreRoute<TInput>, call: RouteCall<TInput> = {}): Promise<Response> {
    const request = this.#prepare(route, call);
    return this.#withRetry(request, async () => {
      const late = new AbortController();
      const timer = setTimeout(() => late.abort(), this.#options.requestTimeoutMs + request.waitMs);
      try {
        return await this.#fetch(request, late.signal);
      } finally {
        clearTimeout(timer);
      }
    });
  }

  /**
   * Sends a request with a streamed body; without retry or timeout, because a stream cannot be read twice.
   *
   * @throws AgentLightningError as {@link call}
   */
  async upload<TOutput>(route: StoreRoute<never, TOutput>, body: ReadableStream, type: string): Promise<TOutput> {
    const { init, ...request } = this.#prepare(route, { headers: { 'content-type': type } });
    const streamed: StoreRequest = { ...request, init: { ...init, body, duplex: 'half' } };
    try {
      const response = await this.#fetch(streamed, null);
      return parse(responseOf(route), await response.json(), `Response of the store to ${route.path}`);
    } catch (cause) {
      if (cause instanceof StoreFailure) throw cause.error;
      throw AgentLightningError.isInstance(cause) ? cause : unreachable(request.url, cause);
    }
  }

  async #withRetry<TResult>(request: StoreRequest, once: () => Promise<TResult>): Promise<TResult> {
    const { clock, maxRetries, unreachableAfterMs } = this.#options;
    const startMs = clock.now();
    const isOver = (retry: number): boolean =>
      unreachableAfterMs === null ? retry >= maxRetries : clock.now() - startMs >= unreachableAfterMs;
    for (let retry = 0; ; retry += 1) {
      try {
        return await once();
      } catch (cause) {
        if (request.signal?.aborted) throw cause;
        const failure = cause instanceof StoreFailure ? cause : new StoreFailure(unreachable(request.url, cause), true);
        if (!failure.isTransient || isOver(retry)) throw failure.error;
      }
      await clock.sleep(backoffMs(retryBackoff, retry + 1), request.signal);
    }
  }

  async #fetch({ url, init, signal }: StoreRequest, limit: AbortSignal | null): Promise<Response> {
    const signals = [limit, signal].filter((one) => one !== null && one !== undefined);
    const response = await this.#options.fetch(url, { ...init, signal: AbortSignal.any(signals) });
    if (response.ok) return response;
    const body = jsonOrText(await response.text());
    throw new StoreFailure(errorFromWire(response.status, body), isTransient(response.status, body));
  }

  /** The URL of the server. */
  get baseUrl(): string {
    return this.#options.baseUrl;
  }

  #prepare<TInput>(route: StoreRoute<TInput>, call: RouteCall<TInput>): StoreRequest {
    const { parameters = [], isRepeatable = false, bytes, headers, waitMs = route.waitMs ?? 0, signal } = call;
    const json = route.body === undefined ? null : JSON.stringify(encode(route.body, call.input as TInput, 'Request'));
    const query = route.query === undefined ? '' : `?${queryOf(encode(route.query, call.input as TInput, 'Request'))}`;
    const { apiKey } = this.#options;
    const init = {
      method: route.method,
      headers: {
        [headerNames.strict]: '1',
        ...(json === null ? {} : { 'content-type': 'application/json' }),
        ...(apiKey === null ? {} : { authorization: `Bearer ${apiKey}` }),
        ...(route.idempotency !== 'key' || isRepeatable ? {} : { 'idempotency-key': crypto.randomUUID() }),
        ...headers,
      },
      ...(bytes !== undefined ? { body: bytes } : json === null ? {} : { body: json }),
    };
    return { url: `${this.#options.baseUrl}${pathOf(route, parameters)}${query}`, init, waitMs, signal };
  }
}

/** The path with ids. Encoding alone is not enough: `..` would address another route. */
function pathOf(route: StoreRoute, ids: readonly string[]): string {
  return pathParameters(route).reduce((path, name, index) => {
    const id = ids[index] ?? '';
    assertId(name, id);
    return path.replace(`:${name}`, encodeURIComponent(id));
  }, route.path);
}

/** URL parameters of all defined fields: a list is repeated, an object is JSON. */
function queryOf(fields: unknown): URLSearchParams {
  const entries = Object.entries(fields as object).flatMap(([name, value]: [string, unknown]) =>
    (Array.isArray(value) ? value : [value])
      .filter((one) => one !== undefined && one !== null)
      .map((one): [string, string] => [name, typeof one === 'object' ? JSON.stringify(one) : String(one)]),
  );
  return new URLSearchParams(entries);
}

function responseOf<TOutput>({
  path,
  response,
}: Pick<StoreRoute<never, TOutput>, 'path' | 'response'>): z.ZodType<TOutput> {
  if (response !== undefined) return response;
  throw new AgentLightningError({ code: 'INTERNAL', message: `The route ${path} has no JSON response` });
}

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
    message: `The server at ${addressText(url)} cannot be reached: ${reason}`,
    remedy: 'Check that the server runs at this address (`agl store` or `agl server`), and that its key is right.',
    cause,
  });
}

/** `fetch` reports the reason in the cause of its error. */
function reasonOf(error: Error): string {
  return error.cause instanceof Error && error.cause.message !== '' ? error.cause.message : error.message;
}
