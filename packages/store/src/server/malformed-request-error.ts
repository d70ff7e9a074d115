import { ValidationError, type ValidationIssue } from '@agentlightning/core';

/**
 * Thrown when a request's body or parameters cannot be parsed or have wrong types: status 422 in the store protocol.
 */
export class MalformedRequestError extends ValidationError {
  constructor(issues: readonly ValidationIssue[], cause?: unknown) {
    super('Request', issues, cause);
  }
}
