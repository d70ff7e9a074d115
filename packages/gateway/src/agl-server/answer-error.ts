import { AgentLightningError, type ValidationError } from '@agentlightning/core';
import type { AgentLightningErrorOptions } from '@agentlightning/core/internal';

/** A request of the 1.0 protocol that is refused. Callers get it in the form that its own server uses. */
export class AglServerError extends AgentLightningError {
  /** The HTTP status of the answer. */
  readonly httpStatus: number;
  /** What happened, in the words of the protocol's own server. */
  readonly detail: string;

  constructor(options: AgentLightningErrorOptions & { readonly httpStatus: number }) {
    super(options);
    this.httpStatus = options.httpStatus;
    this.detail = options.message;
  }
}

/** The answer to a request that failed: `{ detail }`, as the protocol has it. */
export function errorAnswer(error: unknown): Response {
  if (!AgentLightningError.isInstance(error)) {
    return detail(500, error instanceof Error ? error.message : String(error));
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

/** There is no such rollout, or it is none of this protocol. */
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
  // The store did not take it: the Python client tries again after these.
  return error.code === 'INTERNAL' ? 500 : 503;
}

function isValidation(error: AgentLightningError): error is ValidationError {
  return error.code === 'VALIDATION' && 'issues' in error;
}

function detail(status: number, content: unknown): Response {
  return Response.json({ detail: content }, { status });
}
