import { AgentLightningError } from './agent-lightning-error.ts';

/** One invalid field. */
export interface ValidationIssue {
  /** Path of the field, as in `tasks[3].question`. Empty for the value itself. */
  readonly path: string;
  /** Description of the problem. */
  readonly message: string;
}

/** Thrown when an external value (file, request, response) is invalid. */
export class ValidationError extends AgentLightningError {
  /** All invalid fields. */
  readonly issues: readonly ValidationIssue[];

  constructor(what: string, issues: readonly ValidationIssue[], cause?: unknown) {
    const list = issues.map((issue) => (issue.path === '' ? issue.message : `${issue.path}: ${issue.message}`));
    super({ code: 'VALIDATION', message: `${what} is not valid: ${list.join('; ')}`, cause, details: { issues } });
    this.issues = issues;
  }
}
