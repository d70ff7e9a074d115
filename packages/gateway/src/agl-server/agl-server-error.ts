import { AgentLightningError, type ValidationError } from '@agentlightning/core';
import type { AgentLightningErrorOptions } from '@agentlightning/core/internal';
import { errorMessage } from '@agentlightning/core/internal';

/** A rejected request of the 1.0 protocol, reported in its own format. */
export class AglServerError extends AgentLightningError {
  /** HTTP status of the response. */
  readonly httpStatus: number;
  /** The message of the original server. */
  readonly detail: string;

  constructor(options: AgentLightningErrorOptions & { readonly httpStatus: number }) {
    super(options);
    this.httpStatus = options.httpStatus;
    this.detail = options.message;
  }
}

/** The error response: `{ detail }`. */
export function errorResponse(error: unknown): Response {
  if (!AgentLightningError.isInstance(error)) {
    return detail(500, errorMessage(error));
  }
  if (isValidation(error)) {
    const issues = error.issues.map(({ path, message }) => ({
      type: 'value_error',
      loc: ['body', ...path.split(/[.[\]]+/).filter((part) => part !== '')],
      msg: message,
    }));
    return detail(422, issues);
  }
  if (error.code === 'UNAUTHENTICATED') return detail(401, 'Invalid or missing API key');
  return detail(statusOf(error), error instanceof AglServerError ? error.detail : error.message);
}

/** The rollout does not exist, or does not belong to this protocol. */
export function rolloutNotFound(rolloutId: string): AglServerError {
  return new AglServerError({
    code: 'NOT_FOUND',
    httpStatus: 404,
    message: `Rollout not found: ${rolloutId}`,
    remedy: 'Check the id; it may have been deleted.',
  });
}

function statusOf(error: AgentLightningError): number {
  if ('httpStatus' in error && typeof error.httpStatus === 'number') return error.httpStatus;
  if (error.code === 'NOT_FOUND') return 404;
  if (error.code === 'CONFLICT' || error.code === 'ILLEGAL_TRANSITION') return 409;
  if (error.code === 'CONFIG' || error.code === 'INVALID_REWARD') return 422;
  // Store failures: the Python client retries after these statuses.
  return error.code === 'INTERNAL' ? 500 : 503;
}

function isValidation(error: AgentLightningError): error is ValidationError {
  return error.code === 'VALIDATION' && 'issues' in error;
}

function detail(status: number, content: unknown): Response {
  return Response.json({ detail: content }, { status });
}
