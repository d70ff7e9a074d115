import { httpErrorMessage } from '@agentlightning/core';
import { GatewayError } from '../gateway-error.ts';
import type { RegisteredUpstream } from './registered-upstream.ts';
import type { UpstreamResponse } from './upstream-client.ts';

/** A response whose body was read, unless it is a stream. */
interface ReadResponse {
  readonly upstream: RegisteredUpstream;
  readonly response: UpstreamResponse;
  readonly text: string | null;
}

/** The gateway could not get a model's words from an upstream. */
export function upstreamFailed(address: string, what: string, cause: unknown): GatewayError {
  return new GatewayError({
    code: 'UPSTREAM_FAILED',
    httpStatus: 502,
    type: 'upstream_error',
    message: `the model endpoint ${address} ${what}`,
    cause,
  });
}

/** An upstream answered nothing for longer than it may. */
export function upstreamSilent(address: string, cause: unknown): GatewayError {
  return new GatewayError({
    code: 'TIMEOUT',
    httpStatus: 504,
    type: 'upstream_error',
    message: `the model endpoint ${address} was silent for too long`,
    remedy: 'Raise the gateway option `upstreamTimeoutMs`, or find out what hangs.',
    cause,
  });
}

/** Every upstream that a call may go to has as many calls as it takes, and as many that wait. */
export function upstreamsBusy(what: string): GatewayError {
  return new GatewayError({
    code: 'RESOURCE_EXHAUSTED',
    httpStatus: 429,
    type: 'rate_limit_error',
    message: what,
    remedy: 'Try again in a moment, run fewer rollouts at a time, or raise `maxConcurrent` and `maxQueued`.',
    headers: { 'retry-after': '1' },
  });
}

/** What the upstream itself says was wrong; without the secrets, which it may repeat. */
export function wordsOf({ upstream, text }: ReadResponse): string {
  // Once before words are cut, and once after they are read: JSON may write a secret in another way.
  const words = upstream.withoutSecrets(httpErrorMessage(upstream.withoutSecrets(text ?? '')));
  return words === '' ? '' : `: ${words}`;
}

/** Whether an upstream turned a request down because it asks for token ids or log-probabilities. */
export function refusesTokens({ response: { status }, text }: ReadResponse): boolean {
  return (status === 400 || status === 422) && /return_token_ids|logprobs/i.test(text ?? '');
}

/** Whether an upstream was silent for too long, once it was connected. */
export function isSilence(error: unknown): boolean {
  return hasCode(error) && (error.code === 'UND_ERR_HEADERS_TIMEOUT' || error.code === 'UND_ERR_BODY_TIMEOUT');
}

/** An error of the connection, in words. */
export function describeFailure(error: unknown): string {
  // A refused connection to several addresses of a name has no message, only a code.
  if (hasCode(error)) return error.message === '' ? error.code : error.message;
  return error instanceof Error ? error.message : String(error);
}

function hasCode(error: unknown): error is Error & { readonly code: string } {
  return error instanceof Error && 'code' in error && typeof error.code === 'string';
}
