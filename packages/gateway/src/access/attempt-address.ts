import type { RolloutMode } from '@agentlightning/core';
import { headerNames } from '@agentlightning/core/protocol';
import type { AttemptAddress } from '../attempts/calling-attempt.ts';
import { GatewayError } from '../wire/gateway-error.ts';
import type { Caller } from './access.ts';

/** Base URLs of an attempt in Agent Lightning 0.3 and 1.0. Python clients may omit `/v1`. */
const attemptRoots: readonly string[] = [
  '/rollout/:rolloutId/attempt/:attemptId/v1',
  '/rollout/:rolloutId/attempt/:attemptId',
  '/proxy/rollout/:rolloutId/attempt/:attemptId/mode/:mode{train|val|test}/openai/v1',
];

/** All base URLs; the last two do not contain an attempt. */
export const roots: readonly string[] = [...attemptRoots, '/v1', ''];

/** The parts of a request that may identify the attempt. */
export interface AddressedCall {
  /** A parameter of the path, such as `rolloutId`. */
  readonly param: (name: string) => string | undefined;
  readonly headers: Headers;
  readonly caller: Caller;
  /** Whether agents have attempt tokens: the gateway's key then opens no attempt. */
  readonly requiresToken: boolean;
}

/**
 * The attempt that a call belongs to: from its path, else its headers, else its token.
 *
 * @returns null when none of them identifies one
 * @throws GatewayError 403 when the token is for another attempt, or missing; 400 when only one of the two headers is set
 */
export function attemptAddressOf({ param, headers, caller, requiresToken }: AddressedCall): AttemptAddress | null {
  const named = fromPath(param) ?? fromHeaders(headers);
  if (named !== null && requiresToken && caller.kind === 'api') throw tokenRequired(named);
  if (caller.kind !== 'attempt') return named;
  const { rolloutId, attemptId } = caller.claims;
  if (named === null) return { rolloutId, attemptId, mode: null };
  if (named.rolloutId !== rolloutId || named.attemptId !== attemptId) throw otherAttempt(named, caller.claims);
  return named;
}

function fromPath(param: AddressedCall['param']): AttemptAddress | null {
  const rolloutId = param('rolloutId');
  const attemptId = param('attemptId');
  if (rolloutId === undefined || attemptId === undefined) return null;
  return { rolloutId, attemptId, mode: modeOf(param('mode')) };
}

function fromHeaders(headers: Headers): AttemptAddress | null {
  const rolloutId = headers.get(headerNames.rolloutId);
  const attemptId = headers.get(headerNames.attemptId);
  if (rolloutId === null && attemptId === null) return null;
  if (!rolloutId || !attemptId) throw incompleteHeaders();
  return { rolloutId, attemptId, mode: null };
}

function modeOf(text: string | undefined): RolloutMode | null {
  return text === 'train' || text === 'val' || text === 'test' ? text : null;
}

function tokenRequired({ attemptId }: AttemptAddress): GatewayError {
  return new GatewayError({
    code: 'PERMISSION_DENIED',
    httpStatus: 403,
    type: 'permission_error',
    message: `a key of the gateway does not admit to the address of attempt ${attemptId}`,
    remedy: 'Send the token of the attempt, which the runner passes to its agent, as the key.',
  });
}

function otherAttempt(named: AttemptAddress, own: { readonly attemptId: string }): GatewayError {
  return new GatewayError({
    code: 'PERMISSION_DENIED',
    httpStatus: 403,
    type: 'permission_error',
    message: `the token is for attempt ${own.attemptId}, but the request is for attempt ${named.attemptId}`,
    remedy: 'Use the base URL and the key of the same attempt.',
  });
}

function incompleteHeaders(): GatewayError {
  return new GatewayError({
    code: 'VALIDATION',
    httpStatus: 400,
    type: 'invalid_request_error',
    message: `only one of the headers ${headerNames.rolloutId} and ${headerNames.attemptId} is set`,
    remedy: 'Send both, or use the base URL of the attempt.',
  });
}
