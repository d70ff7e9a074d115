import { Agent, type Dispatcher } from 'undici';
import { isAnsweredHeader } from '../http/forwarded-headers.ts';
import type { CallObservation } from '../observe/call-observation.ts';
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
  readonly signal: AbortSignal;
  /** The call that it is for; null for the gateway's own requests. */
  readonly observation: CallObservation | null;
}

/** An upstream's answer, its body not yet read. */
export interface UpstreamAnswer {
  readonly status: number;
  /** By lower-case name; only those that the caller may have use for. */
  readonly headers: Readonly<Record<string, string>>;
  /** The upstream's own id of the request; null when it gave none. */
  readonly requestId: string | null;
  readonly body: Dispatcher.ResponseData['body'];
}

/** Where a request goes. */
interface Target {
  readonly origin: string;
  readonly path: string;
}

/** How many addresses are remembered: some have a model's name in them. */
const maxTargets = 1000;

/** Sends requests to upstreams over connections that are kept open. */
export class UpstreamClient {
  readonly #agent: Agent;
  readonly #targets: Map<string, Target> = new Map();

  /** How long a connection may take, and how long an upstream may be silent, in milliseconds. */
  constructor(options: { readonly connectTimeoutMs: number; readonly silenceTimeoutMs: number }) {
    this.#agent = new Agent({
      connect: { timeout: options.connectTimeoutMs },
      headersTimeout: options.silenceTimeoutMs,
      bodyTimeout: options.silenceTimeoutMs,
      keepAliveTimeout: 30_000,
    });
  }

  /** Resolves with the head of the answer. Rejects with undici's error when there is none. */
  async send(upstream: RegisteredUpstream, request: UpstreamRequest): Promise<UpstreamAnswer> {
    const { statusCode, headers, body } = await this.#agent.request({
      ...this.#targetOf(upstream.baseUrl + request.path),
      method: request.method,
      headers: { ...request.headers, ...keyHeaders(upstream, request.path), ...upstream.headers },
      body: request.body,
      signal: request.signal,
    });
    const requestId = headers['x-request-id'] ?? headers['request-id'];
    return {
      status: statusCode,
      headers: forwardedHeaders(headers),
      requestId: typeof requestId === 'string' ? requestId.slice(0, 128) : null,
      body,
    };
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

function forwardedHeaders(headers: Dispatcher.ResponseData['headers']): Record<string, string> {
  const forwarded: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || !isAnsweredHeader(name)) continue;
    forwarded[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  return forwarded;
}
