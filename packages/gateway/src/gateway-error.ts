import { AgentLightningError, type JsonObject } from '@agentlightning/core';
import type { AgentLightningErrorOptions } from '@agentlightning/core/internal';

/** What a {@link GatewayError} is made of. */
export interface GatewayErrorOptions extends AgentLightningErrorOptions {
  /** The HTTP status of the answer. */
  readonly httpStatus: number;
  /** OpenAI's `error.type`. */
  readonly type: string;
  /** The part of the request that is wrong: OpenAI's `error.param`. @default null none in particular */
  readonly param?: string | null;
  /** Headers of the answer beyond the content type. @default none */
  readonly headers?: Readonly<Record<string, string>>;
  /** The error response of the upstream that caused it, for the record. @default null none */
  readonly upstreamResponse?: UpstreamErrorResponse | null;
}

/** An error response of an upstream, without the secrets that it may repeat. */
export interface UpstreamErrorResponse {
  readonly status: number;
  /** Null when it is not a JSON object. */
  readonly body: JsonObject | null;
}

/** A call that the gateway does not answer with a model's words. Callers get it in OpenAI's error shape. */
export class GatewayError extends AgentLightningError {
  /** The HTTP status of the answer. */
  readonly httpStatus: number;
  /** OpenAI's `error.type`. */
  readonly type: string;
  /** The part of the request that is wrong; null for none in particular. */
  readonly param: string | null;
  /** Headers of the answer beyond the content type. */
  readonly headers: Readonly<Record<string, string>>;
  /** The error response of the upstream that caused it; null for none. */
  readonly upstreamResponse: UpstreamErrorResponse | null;
  /** What callers read: what happened, and what to do. */
  readonly text: string;

  constructor(options: GatewayErrorOptions) {
    super(options);
    this.httpStatus = options.httpStatus;
    this.type = options.type;
    this.param = options.param ?? null;
    this.headers = options.headers ?? {};
    this.upstreamResponse = options.upstreamResponse ?? null;
    this.text = `${options.message}. ${this.remedy}`;
  }

  /** The body that the official clients understand: `{ error: { message, type, param, code } }`. */
  toBody(): string {
    return JSON.stringify({ error: { message: this.text, type: this.type, param: this.param, code: this.code } });
  }

  /** The whole answer. */
  toResponse(): Response {
    return new Response(this.toBody(), {
      status: this.httpStatus,
      headers: { 'content-type': 'application/json', ...this.headers },
    });
  }

  /** Any error as one of these; what is not ours is a fault of ours. */
  static from(error: unknown): GatewayError {
    if (error instanceof GatewayError) return error;
    return new GatewayError({
      code: 'INTERNAL',
      httpStatus: 500,
      type: 'server_error',
      message: `the gateway failed: ${error instanceof Error ? error.message : String(error)}`,
      cause: error,
    });
  }
}

/** The store did not take or give what it should; the caller must not think that its call was recorded. */
export function storeUnavailable(cause: unknown): GatewayError {
  const isOurs = AgentLightningError.isInstance(cause);
  return new GatewayError({
    code: isOurs ? cause.code : 'UNREACHABLE',
    httpStatus: 503,
    type: 'store_unavailable',
    message: `the store could not be used, so the call is not recorded: ${cause instanceof Error ? cause.message : String(cause)}`,
    remedy: isOurs ? cause.remedy : 'Check that the store runs, then try again.',
    cause,
  });
}
