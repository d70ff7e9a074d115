import type { z } from 'zod';
import type { Clock } from './clock.ts';
import { AgentLightningError } from './errors/agent-lightning-error.ts';
import { parse } from './parse.ts';
import { errorFromWire } from './protocol/wire-error.ts';

/** What reaches a store's server. */
export interface StoreTransportOptions {
  /** The server's URL, without `/v1/agl`. */
  readonly baseUrl: string;
  readonly apiKey: string | null;
  readonly fetch: typeof globalThis.fetch;
  readonly clock: Clock;
  /** How long one try may take, in milliseconds, beyond the time it asks the server to wait. */
  readonly requestTimeoutMs: number;
  /** How often a request is sent again after a failure that may pass. */
  readonly maxRetries: number;
}

/** One request to a store's server. Every request may be sent again: it is repeatable, or has a key. */
export interface StoreRequest<TAnswer> {
  readonly method: 'GET' | 'POST';
  /** Below `/v1/agl`, with its parameters. */
  readonly path: string;
  readonly body?: unknown;
  /** The shape of the answer. */
  readonly answer: z.ZodType<TAnswer>;
  /** Makes a request that is sent again have one effect. */
  readonly idempotencyKey?: string;
  /** How long the server is asked to wait, in milliseconds. */
  readonly waitMs?: number;
  readonly signal?: AbortSignal | undefined;
}

const firstRetryDelayMs = 100;
const longestRetryDelayMs = 5000;

/** Sends requests to a store's server and checks what comes back. */
export class StoreTransport {
  readonly #options: StoreTransportOptions;

  constructor(options: StoreTransportOptions) {
    this.#options = { ...options, baseUrl: options.baseUrl.replace(/\/+$/, '').replace(/\/v1\/agl$/, '') };
  }

  /**
   * Sends a request, again when the network or the server fails in a way that may pass.
   *
   * @throws AgentLightningError the error that the server names, or UNREACHABLE when it cannot be reached
   */
  async send<TAnswer>(request: StoreRequest<TAnswer>): Promise<TAnswer> {
    for (let retry = 0; ; retry += 1) {
      const outcome = await this.#try(request);
      if ('answer' in outcome) return parse(request.answer, outcome.answer, `Answer of the store to ${request.path}`);
      if (!outcome.mayPass || retry >= this.#options.maxRetries) throw outcome.error;
      await this.#options.clock.sleep(Math.min(firstRetryDelayMs * 2 ** retry, longestRetryDelayMs), request.signal);
    }
  }

  async #try<TAnswer>(request: StoreRequest<TAnswer>): Promise<Outcome> {
    const { baseUrl, fetch, requestTimeoutMs } = this.#options;
    const url = `${baseUrl}/v1/agl${request.path}`;
    const limit = AbortSignal.timeout(Math.ceil(requestTimeoutMs + (request.waitMs ?? 0)));
    try {
      const response = await fetch(url, {
        method: request.method,
        headers: this.#headers(request),
        signal: request.signal === undefined ? limit : AbortSignal.any([limit, request.signal]),
        ...(request.body === undefined ? {} : { body: JSON.stringify(request.body) }),
      });
      const text = await response.text();
      if (response.ok) return { answer: JSON.parse(text) };
      return { error: errorFromWire(response.status, jsonOrText(text)), mayPass: mayPass(response.status) };
    } catch (cause) {
      if (request.signal?.aborted) throw cause;
      return { error: unreachable(url, cause), mayPass: true };
    }
  }

  #headers<TAnswer>(request: StoreRequest<TAnswer>): Record<string, string> {
    return {
      ...(request.body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(this.#options.apiKey === null ? {} : { authorization: `Bearer ${this.#options.apiKey}` }),
      ...(request.idempotencyKey === undefined ? {} : { 'idempotency-key': request.idempotencyKey }),
    };
  }
}

/** How one try ended. */
type Outcome = { readonly answer: unknown } | { readonly error: AgentLightningError; readonly mayPass: boolean };

/** Whether a later try may fare better. 507 is a full disk, and 501 a route that is not there. */
function mayPass(status: number): boolean {
  return status === 408 || status === 429 || (status >= 500 && status !== 501 && status !== 507);
}

function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function unreachable(url: string, cause: unknown): AgentLightningError {
  const reason = cause instanceof Error ? reasonOf(cause) : String(cause);
  return new AgentLightningError({
    code: 'UNREACHABLE',
    message: `The store at ${url} cannot be reached: ${reason}`,
    remedy: 'Check that the store server runs at this address (`agl store`), and that its key is right.',
    cause,
  });
}

/** `fetch` hides what happened in its error's cause. */
function reasonOf(error: Error): string {
  return error.cause instanceof Error && error.cause.message !== '' ? error.cause.message : error.message;
}
