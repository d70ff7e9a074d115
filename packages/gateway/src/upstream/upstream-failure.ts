import { errorMessage, httpErrorMessage, parseJsonObject } from '@agentlightning/core/internal';
import { GatewayError } from '../wire/gateway-error.ts';
import type { RegisteredUpstream } from './registered-upstream.ts';
import type { UpstreamResponse } from './upstream-client.ts';

/** A response whose body was read, unless it is a stream. */
interface ReadResponse {
  readonly upstream: RegisteredUpstream;
  readonly response: UpstreamResponse;
  readonly text: string | null;
}

/** An upstream could not be reached, or its response is not that of a model. */
export function upstreamFailed(address: string, what: string, cause: unknown): GatewayError {
  return new GatewayError({
    code: 'UPSTREAM_FAILED',
    httpStatus: 502,
    type: 'upstream_error',
    message: `the model endpoint ${address} ${what}`,
    cause,
  });
}

/** An upstream refused the key that the gateway has for it. Every retry of the client would be refused too. */
export function keyRefused(address: string, status: number): GatewayError {
  return new GatewayError({
    code: 'UPSTREAM_FAILED',
    httpStatus: 502,
    type: 'upstream_error',
    message: `the model endpoint ${address} refused the gateway's key with ${status}`,
    remedy: 'Set a key of this endpoint where the gateway is configured (AGL_UPSTREAM_KEY or `apiKey`).',
    headers: { 'x-should-retry': 'false' },
  });
}

/** An upstream responded with a server error to every try. */
export function upstreamErrored(result: ReadResponse, times: string): GatewayError {
  const { upstream, response, text } = result;
  return new GatewayError({
    code: 'UPSTREAM_FAILED',
    httpStatus: 502,
    type: 'upstream_error',
    message: `the model endpoint ${upstream.baseUrl} returned ${response.status} ${times}${upstreamMessage(result)}`,
    upstreamResponse: { status: response.status, body: parseJsonObject(upstream.withoutSecrets(text ?? '')) },
  });
}

/** An upstream sent nothing until a timeout. */
export function upstreamTimedOut(address: string, cause: unknown): GatewayError {
  return new GatewayError({
    code: 'TIMEOUT',
    httpStatus: 504,
    type: 'upstream_error',
    message: `the model endpoint ${address} was silent for too long: ${describeFailure(cause)}`,
    remedy: 'Check why it hangs, or raise the gateway options `firstByteTimeoutMs` and `upstreamTimeoutMs`.',
    cause,
  });
}

/** The queue for the upstreams of a call is full, or too slow. */
export function upstreamsBusy(what: string): GatewayError {
  return new GatewayError({
    code: 'RESOURCE_EXHAUSTED',
    httpStatus: 429,
    type: 'rate_limit_error',
    message: what,
    remedy: 'Retry later, run fewer rollouts concurrently, or raise `maxConcurrent` and `maxQueued`.',
    headers: { 'retry-after': '1' },
  });
}

/** The upstream's own error message, without the secrets that it may repeat. */
export function upstreamMessage({ upstream, text }: ReadResponse): string {
  // Before the message is truncated and after it is parsed: JSON may escape a secret.
  const message = upstream.withoutSecrets(httpErrorMessage(upstream.withoutSecrets(text ?? '')));
  return message === '' ? '' : `: ${message}`;
}

/** The message of a connection error. */
export function describeFailure(error: unknown): string {
  // A refused connection to several addresses of a host name has no message, only a code.
  if (hasCode(error)) return error.message === '' ? error.code : error.message;
  return errorMessage(error);
}

function hasCode(error: unknown): error is Error & { readonly code: string } {
  return error instanceof Error && 'code' in error && typeof error.code === 'string';
}
