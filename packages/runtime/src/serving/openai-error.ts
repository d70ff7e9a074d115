import { AgentLightningError, ValidationError } from '@agentlightning/core';

/** The HTTP status of each error code in the model API. */
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
  // The rest of the body is still in flight on this connection.
  413: { connection: 'close' },
  // The model is temporarily unavailable: a retry after one second suffices.
  503: { 'retry-after': '1' },
};

/** An error as a response of OpenAI's API. */
export function errorResponse(error: unknown): Response {
  const status = statusOf(error);
  return Response.json(errorBody(error), { status, headers: headersOfStatus[status] ?? {} });
}

/**
 * An error in OpenAI's format: `code` is our error's code, except for a prompt that is too long, which has OpenAI's.
 * The message of an unexpected error stays in the process.
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

/** The invalid field of the request. */
function fieldOf(error: AgentLightningError): string | null {
  if (error instanceof ContextLengthError) return 'messages';
  const field = error instanceof ValidationError ? error.issues[0]?.path : error.details['field'];
  return typeof field === 'string' && field !== '' ? field : null;
}

/** Thrown when a prompt leaves no tokens for the response in the model's context. */
export class ContextLengthError extends AgentLightningError {
  constructor(promptTokens: number, maxContext: number, remedy = 'Shorten the conversation.') {
    super({
      code: 'VALIDATION',
      message: `The prompt has ${promptTokens} tokens; the model's context is ${maxContext}, including the response`,
      remedy,
      details: { promptTokens, maxContext },
    });
  }
}
