import { AgentLightningError, ValidationError } from '@agentlightning/core';
import { ContextLengthError } from '../errors/context-length-error.ts';

/** The statuses that the model API answers errors with. */
type ErrorStatus = 400 | 401 | 403 | 404 | 413 | 500 | 503;

const statusOfCode: Readonly<Record<string, ErrorStatus>> = {
  VALIDATION: 400,
  RUNTIME_REJECTED: 400,
  UNAUTHENTICATED: 401,
  PERMISSION_DENIED: 403,
  NOT_FOUND: 404,
  PAYLOAD_TOO_LARGE: 413,
  RUNTIME_UNAVAILABLE: 503,
  CANCELLED: 503,
};

const headersOfStatus: Partial<Record<ErrorStatus, Readonly<Record<string, string>>>> = {
  // The rest of the body is still to come on this connection.
  413: { connection: 'close' },
  // The model is not to be had for now; to wait a second is enough.
  503: { 'retry-after': '1' },
};

/** An error as an answer of OpenAI's API. */
export function errorResponse(error: unknown): Response {
  const status = statusOf(error);
  return Response.json(errorBody(error), { status, headers: headersOfStatus[status] ?? {} });
}

/**
 * An error in OpenAI's form: `code` is our error's code, but for a prompt that is too long, where programs know
 * OpenAI's. The message of an unforeseen error stays in the process.
 */
export function errorBody(error: unknown): { readonly error: Readonly<Record<string, string | null>> } {
  if (!AgentLightningError.isInstance(error)) {
    return { error: { message: 'The runtime failed.', type: 'server_error', param: null, code: 'INTERNAL' } };
  }
  const type = statusOf(error) < 500 ? 'invalid_request_error' : 'server_error';
  const code = error instanceof ContextLengthError ? 'context_length_exceeded' : error.code;
  return { error: { message: `${error.message}. ${error.remedy}`, type, param: fieldOf(error), code } };
}

function statusOf(error: unknown): ErrorStatus {
  return AgentLightningError.isInstance(error) ? (statusOfCode[error.code] ?? 500) : 500;
}

/** The field of the request that is wrong. */
function fieldOf(error: AgentLightningError): string | null {
  if (error instanceof ContextLengthError) return 'messages';
  const field = error instanceof ValidationError ? error.issues[0]?.path : error.details['field'];
  return typeof field === 'string' && field !== '' ? field : null;
}
