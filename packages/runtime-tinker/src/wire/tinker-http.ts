import { randomUUID } from 'node:crypto';
import { AgentLightningError, type Clock } from '@agentlightning/core';
import { backoffMs, errorMessage } from '@agentlightning/core/internal';
import * as z from 'zod';
import { refusal, type TinkerReply, unknownForm } from './server-refusal.ts';

/** The media type of the protocol's binary messages. */
export const protobufType = 'application/x-protobuf';

/** Options of a server's connection. */
export interface TinkerHttpOptions {
  /** Without `/api/v1`. */
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly clock: Clock;
}

/** How a request is sent. */
export interface PostOptions {
  /** Media types of the response. @default JSON */
  readonly accept?: string;
  /**
   * Whether the server applies the request once, however often it arrives. When false, a request whose response was lost is not
   * sent again. @default true
   */
  readonly isRepeatable?: boolean;
  /** Whether a failure of the server (5xx) is returned at once, instead of repeating the request. @default false */
  readonly returnsFailures?: boolean;
  /** Time limit of one attempt, in milliseconds. @default 60000 */
  readonly timeoutMs?: number;
}

/** Time limit of repeating a request on failures of the network or the server, in milliseconds. */
const maxRetryMs = 5 * 60_000;

/** Time limit of waiting for the payment of an account, in milliseconds. */
const maxBillingPauseMs = 60 * 60_000;

const billingPollMs = 5_000;
const backoff = { baseDelayMs: 1_000, maxDelayMs: 30_000 };

/** Statuses after which the same request may succeed. */
const transient: ReadonlySet<number> = new Set([408, 425, 429]);

/** Codes of failures before anything was sent. */
const unsentCodes: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** Sends requests with the key; repeats them on failures that pass. */
export class TinkerHttp {
  readonly #base: string;
  readonly #apiKey: string;
  readonly #clock: Clock;
  readonly #closing = new AbortController();

  constructor({ baseUrl, apiKey, clock }: TinkerHttpOptions) {
    this.#base = `${baseUrl.replace(/\/+$/, '')}/api/v1/`;
    this.#apiKey = apiKey;
    this.#clock = clock;
  }

  /** The clock of all waits. */
  get clock(): Clock {
    return this.#clock;
  }

  /** Aborts when the connection is closed. */
  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  /** Ends all requests and waits. */
  close(): void {
    this.#closing.abort(new AgentLightningError({ code: 'CANCELLED', message: 'The runtime is closing' }));
  }

  /** The JSON of a resource. */
  async get(path: string): Promise<unknown> {
    return readJson(await this.#untilDone(path, {}, () => this.#send('GET', path, {})));
  }

  /** Deletes a resource. */
  async delete(path: string): Promise<void> {
    await this.#untilDone(path, {}, () => this.#send('DELETE', path, {}));
  }

  /**
   * Sends a request and returns the response, which may be a refusal (4xx).
   *
   * @param body - an object for JSON, bytes for a binary message
   * @throws AgentLightningError RUNTIME_UNAVAILABLE when the server does not respond in time, UNAUTHENTICATED for a wrong key,
   *   RESOURCE_EXHAUSTED when an account stays without funds
   */
  async post(path: string, body: object | Uint8Array<ArrayBuffer>, options: PostOptions = {}): Promise<TinkerReply> {
    const { accept = 'application/json', timeoutMs } = options;
    const isBinary = body instanceof Uint8Array;
    const headers = {
      accept,
      'content-type': isBinary ? protobufType : 'application/json',
      'x-idempotency-key': randomUUID(),
    };
    const content = isBinary ? body : JSON.stringify(body);
    return await this.#untilDone(path, options, () => this.#send('POST', path, { headers, content, timeoutMs }));
  }

  async #untilDone(path: string, options: PostOptions, send: () => Promise<TinkerReply>): Promise<TinkerReply> {
    const { isRepeatable = true, returnsFailures = false } = options;
    const startedAt = this.#clock.now();
    for (let failures = 1; ; failures += 1) {
      const outcome = await send().catch((error: unknown) => new Failure(error));
      this.#closing.signal.throwIfAborted();
      if (!(outcome instanceof Failure) && (!isTransient(outcome) || (returnsFailures && outcome.status >= 500))) {
        if (outcome.status === 401 || outcome.status === 403) throw refusal(path, outcome);
        return outcome;
      }
      const elapsedMs = this.#clock.now() - startedAt;
      const isUnpaid = !(outcome instanceof Failure) && outcome.status === 402;
      if (elapsedMs >= (isUnpaid ? maxBillingPauseMs : maxRetryMs)) throw lasting(path, outcome);
      if (!isRepeatable && isUncertain(outcome)) throw lost(path, outcome);
      await this.#clock.sleep(isUnpaid ? billingPollMs : backoffMs(backoff, failures), this.#closing.signal);
    }
  }

  async #send(
    method: string,
    path: string,
    request: {
      readonly headers?: Readonly<Record<string, string>>;
      readonly content?: string | Uint8Array<ArrayBuffer>;
      readonly timeoutMs?: number | undefined;
    },
  ): Promise<TinkerReply> {
    const { headers = {}, content = null, timeoutMs = 60_000 } = request;
    const response = await fetch(this.#base + path, {
      method,
      headers: { ...headers, 'x-api-key': this.#apiKey },
      body: content,
      signal: AbortSignal.any([this.#closing.signal, AbortSignal.timeout(timeoutMs)]),
    });
    const isBinary = response.headers.get('content-type')?.includes('protobuf') ?? false;
    return { status: response.status, isBinary, body: new Uint8Array(await response.arrayBuffer()) };
  }
}

/** A request without a response. */
class Failure {
  readonly cause: unknown;

  constructor(cause: unknown) {
    this.cause = cause;
  }
}

/** The JSON of a response. @throws AgentLightningError for a refusal, and for another form */
export function readJson(reply: TinkerReply, path = 'the response'): unknown {
  if (reply.status >= 400) throw refusal(path, reply);
  const text = new TextDecoder().decode(reply.body);
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw unknownForm(path, text);
  }
}

/** A part of a response. @throws AgentLightningError for another form than that of the schema */
export function readAs<TSchema extends z.ZodType>(schema: TSchema, value: unknown, what: string): z.output<TSchema> {
  const { data, error } = schema.safeParse(value);
  if (error === undefined) return data as z.output<TSchema>;
  throw unknownForm(what, z.prettifyError(error));
}

function isTransient({ status }: TinkerReply): boolean {
  // 501: not implemented. It does not pass.
  return status === 402 || transient.has(status) || (status >= 500 && status !== 501);
}

/** Whether the server may have applied the request. */
function isUncertain(outcome: TinkerReply | Failure): boolean {
  if (!(outcome instanceof Failure)) return outcome.status >= 500;
  const { cause } = outcome;
  const code =
    cause instanceof Error && cause.cause instanceof Error && 'code' in cause.cause ? cause.cause.code : null;
  return !unsentCodes.has(code);
}

function lasting(path: string, outcome: TinkerReply | Failure): AgentLightningError {
  if (outcome instanceof Failure) {
    return new AgentLightningError({
      code: 'RUNTIME_UNAVAILABLE',
      message: `The Tinker server does not respond to ${path}: ${errorMessage(outcome.cause)}`,
      remedy: 'Check the address of the server and that it runs; then resume the run from its last checkpoint.',
      cause: outcome.cause,
    });
  }
  return refusal(path, outcome);
}

function lost(path: string, outcome: TinkerReply | Failure): AgentLightningError {
  return new AgentLightningError({
    code: 'RUNTIME_UNAVAILABLE',
    message: `The response to ${path} was lost, and this server would apply the request twice if it was sent again`,
    remedy: 'Resume the run from its last checkpoint.',
    cause: outcome instanceof Failure ? outcome.cause : refusal(path, outcome),
  });
}
