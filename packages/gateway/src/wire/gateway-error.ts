import { AgentLightningError, type JsonObject } from '@agentlightning/core';
import type { AgentLightningErrorOptions } from '@agentlightning/core/internal';
import { errorMessage } from '@agentlightning/core/internal';

/** Options of a {@link GatewayError}. */
export interface GatewayErrorOptions extends AgentLightningErrorOptions {
  /** HTTP status of the response. */
  readonly httpStatus: number;
  /** OpenAI's `error.type`. */
  readonly type: string;
  /** The invalid request parameter: OpenAI's `error.param`. @default null */
  readonly param?: string | null;
  /** Response headers beyond the content type. @default none */
  readonly headers?: Readonly<Record<string, string>>;
  /** The error response of the upstream that caused it, for the record. @default null */
  readonly upstreamResponse?: UpstreamErrorResponse | null;
}

/** An error response of an upstream, with secrets redacted. */
export interface UpstreamErrorResponse {
  readonly status: number;
  /** Null unless it is a JSON object. */
  readonly body: JsonObject | null;
}

/** An error response of the gateway, in OpenAI's error format. */
export class GatewayError extends AgentLightningError {
  /** HTTP status of the response. */
  readonly httpStatus: number;
  /** OpenAI's `error.type`. */
  readonly type: string;
  /** The invalid request parameter; null for none. */
  readonly param: string | null;
  /** Response headers beyond the content type. */
  readonly headers: Readonly<Record<string, string>>;
  /** The error response of the upstream that caused it; null for none. */
  readonly upstreamResponse: UpstreamErrorResponse | null;
  /** Message and remedy, as returned to the client. */
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

  /** The error body of OpenAI's API: `{ error: { message, type, param, code } }`. */
  toBody(): string {
    return JSON.stringify({ error: { message: this.text, type: this.type, param: this.param, code: this.code } });
  }

  /** The complete response. */
  toResponse(): Response {
    return new Response(this.toBody(), {
      status: this.httpStatus,
      headers: { 'content-type': 'application/json', ...this.headers },
    });
  }

  /** Converts any error; one without a code becomes INTERNAL. */
  static from(error: unknown): GatewayError {
    if (error instanceof GatewayError) return error;
    return new GatewayError({
      code: 'INTERNAL',
      httpStatus: 500,
      type: 'server_error',
      message: `internal gateway error: ${errorMessage(error)}`,
      cause: error,
    });
  }
}

/** The gateway stops, so the call is not sent, or is aborted. Like any outage of the gateway, it is not the agent's failure. */
export function gatewayClosing(): GatewayError {
  return new GatewayError({
    code: 'UNREACHABLE',
    httpStatus: 503,
    type: 'gateway_closing',
    message: 'the gateway is closing',
    remedy: 'Retry when the gateway is back.',
    headers: { 'retry-after': '1' },
  });
}

/** Store failure: the call is not recorded, so its response is not returned. */
export function storeUnavailable(cause: unknown): GatewayError {
  const isOurs = AgentLightningError.isInstance(cause);
  return new GatewayError({
    code: isOurs ? cause.code : 'UNREACHABLE',
    httpStatus: 503,
    type: 'store_unavailable',
    message: `the store could not be used, so the call is not recorded: ${errorMessage(cause)}`,
    remedy: isOurs ? cause.remedy : 'Check that the store runs, then try again.',
    cause,
  });
}

/** A response of an upstream that is incomplete, or cannot be understood. */
export function notUnderstood(message: string): GatewayError {
  return new GatewayError({
    code: 'UPSTREAM_FAILED',
    httpStatus: 502,
    type: 'upstream_error',
    message,
    remedy: 'The response is incomplete; retry.',
  });
}
