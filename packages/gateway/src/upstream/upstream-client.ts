import type { Clock } from '@agentlightning/core';
import { Agent } from 'undici';
import type { CallSignal } from '../call-signal.ts';
import type { CallObservation } from '../observe/call-observation.ts';
import { AnswerHandler, type UpstreamAnswer } from './answer-handler.ts';
import type { RegisteredUpstream } from './registered-upstream.ts';

/** One HTTP request to an upstream. */
export interface UpstreamRequest {
  /** Below the base URL: `/chat/completions`. */
  readonly path: string;
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  /** The body for an upstream that refuses to be asked for token ids; null when the body asks for none. */
  readonly plainBody: (() => string) | null;
  /** Ends the request when the caller has gone, or the gateway ends the call. */
  readonly signal: CallSignal;
  /** The call that it is for; null for the gateway's own requests. */
  readonly observation: CallObservation | null;
}

/** Where a request goes. */
interface Target {
  readonly origin: string;
  readonly path: string;
}

/** How many addresses are remembered: some have a model's name in them. */
const maxTargets = 1000;

/** What a client works with. */
export interface UpstreamClientOptions {
  /** How long a connection may take, in milliseconds. */
  readonly connectTimeoutMs: number;
  /** How long an upstream may be silent, in milliseconds. */
  readonly silenceTimeoutMs: number;
  readonly clock: Clock;
}

/** Sends requests to upstreams over connections that are kept open. */
export class UpstreamClient {
  readonly #agent: Agent;
  readonly #clock: Clock;
  readonly #targets: Map<string, Target> = new Map();

  constructor(options: UpstreamClientOptions) {
    this.#clock = options.clock;
    this.#agent = new Agent({
      connect: { timeout: options.connectTimeoutMs },
      headersTimeout: options.silenceTimeoutMs,
      bodyTimeout: options.silenceTimeoutMs,
      keepAliveTimeout: 30_000,
    });
  }

  /**
   * Resolves with the answer: whole, or as it begins when it is a stream of events. Rejects with undici's error when
   * there is none.
   */
  send(upstream: RegisteredUpstream, request: UpstreamRequest): Promise<UpstreamAnswer> {
    const { signal, path } = request;
    const { origin, path: target } = this.#targetOf(upstream.baseUrl + path);
    const headers = listed({ ...request.headers, ...keyHeaders(upstream, path), ...upstream.headers });
    return new Promise((resolve, reject) => {
      const handler = new AnswerHandler({ clock: this.#clock, resolve, reject });
      signal.onAbort(() => handler.abort(asError(signal.reason)));
      if (signal.aborted) return;
      this.#agent.dispatch({ origin, path: target, method: request.method, headers, body: request.body }, handler);
    });
  }

  /** Taking an address apart costs as much as sending a small request. */
  #targetOf(address: string): Target {
    const known = this.#targets.get(address);
    if (known !== undefined) return known;
    const url = new URL(address);
    const target = { origin: url.origin, path: url.pathname + url.search };
    if (this.#targets.size < maxTargets) this.#targets.set(address, target);
    return target;
  }

  /** Asks an upstream whether it works: the status of its answer. Rejects with undici's error when there is none. */
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

  /** Cuts what is under way. */
  async close(): Promise<void> {
    await this.#agent.destroy();
  }
}

/** Anthropic's API takes a key in a header of its own, and takes a bearer for somebody who signed in. */
function keyHeaders(upstream: RegisteredUpstream, path: string): Record<string, string> {
  if (!path.startsWith('/messages')) return authorization(upstream);
  return upstream.apiKey ? { 'x-api-key': upstream.apiKey } : {};
}

function authorization(upstream: RegisteredUpstream): Record<string, string> {
  return upstream.apiKey ? { authorization: `Bearer ${upstream.apiKey}` } : {};
}

/** Names and values in turn, which undici need not take apart. */
function listed(headers: Readonly<Record<string, string>>): string[] {
  const list: string[] = [];
  for (const name in headers) list.push(name, headers[name] ?? '');
  return list;
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new TypeError(String(reason));
}
