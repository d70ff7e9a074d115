import type { RolloutMode } from '@agentlightning/core';
import type { AttemptAddress } from '../calling-attempt.ts';
import { GatewayError } from '../gateway-error.ts';
import type { Caller } from './access.ts';

/** Base URLs of an attempt, those of Agent Lightning 0.3 and 1.0. Python clients may leave `/v1` out. */
const attemptRoots: readonly string[] = [
  '/rollout/:rolloutId/attempt/:attemptId/v1',
  '/rollout/:rolloutId/attempt/:attemptId',
  '/proxy/rollout/:rolloutId/attempt/:attemptId/mode/:mode{train|val|test}/openai/v1',
];

/** All base URLs; the last two name no attempt. */
export const roots: readonly string[] = [...attemptRoots, '/v1', ''];

const rolloutHeader = 'x-rollout-id';
const attemptHeader = 'x-attempt-id';

/** What is known of where a call went. */
export interface AddressedCall {
  /** A parameter of the path, such as `rolloutId`. */
  readonly param: (name: string) => string | undefined;
  readonly headers: Headers;
  readonly caller: Caller;
}

/**
 * The attempt that a call belongs to: by its address, else by its headers, else by the token it carries.
 *
 * @returns null when none of them names one
 * @throws GatewayError 403 when the token is that of another attempt; 400 when headers name half an attempt
 */
export function attemptAddressOf({ param, headers, caller }: AddressedCall): AttemptAddress | null {
  const named = byAddress(param) ?? byHeaders(headers);
  if (caller.kind !== 'attempt') return named;
  const { rolloutId, attemptId } = caller.claims;
  if (named === null) return { rolloutId, attemptId, mode: null };
  if (named.rolloutId !== rolloutId || named.attemptId !== attemptId) throw notYours(named, caller.claims);
  return named;
}

function byAddress(param: AddressedCall['param']): AttemptAddress | null {
  const rolloutId = param('rolloutId');
  const attemptId = param('attemptId');
  if (rolloutId === undefined || attemptId === undefined) return null;
  return { rolloutId, attemptId, mode: modeOf(param('mode')) };
}

function byHeaders(headers: Headers): AttemptAddress | null {
  const rolloutId = headers.get(rolloutHeader);
  const attemptId = headers.get(attemptHeader);
  if (rolloutId === null && attemptId === null) return null;
  if (!rolloutId || !attemptId) throw halfAnAttempt();
  return { rolloutId, attemptId, mode: null };
}

function modeOf(text: string | undefined): RolloutMode | null {
  return text === 'train' || text === 'val' || text === 'test' ? text : null;
}

function notYours(named: AttemptAddress, own: { readonly attemptId: string }): GatewayError {
  return new GatewayError({
    code: 'PERMISSION_DENIED',
    httpStatus: 403,
    type: 'permission_error',
    message: `the token is that of attempt ${own.attemptId}, and the call is one of attempt ${named.attemptId}`,
    remedy: 'Use the base URL and the key that this very attempt was given.',
  });
}

function halfAnAttempt(): GatewayError {
  return new GatewayError({
    code: 'VALIDATION',
    httpStatus: 400,
    type: 'invalid_request_error',
    message: `only one of the headers ${rolloutHeader} and ${attemptHeader} is there`,
    remedy: 'Send both, or use the attempt’s own base URL.',
  });
}
