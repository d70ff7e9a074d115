import { AgentLightningError } from './agent-lightning-error.ts';

/** One field that does not have the shape it must have. */
export interface ValidationIssue {
  /** Where it is, as in `tasks[3].question`. Empty for the value itself. */
  readonly path: string;
  /** What is wrong there. */
  readonly message: string;
}

/** Thrown when a value from outside (file, request, answer of a server) does not have the shape it must have. */
export class ValidationError extends AgentLightningError {
  /** Every field that is wrong, the first one first. */
  readonly issues: readonly ValidationIssue[];

  constructor(what: string, issues: readonly ValidationIssue[], cause?: unknown) {
    const list = issues.map((issue) => (issue.path === '' ? issue.message : `${issue.path}: ${issue.message}`));
    super({ code: 'VALIDATION', message: `${what} is not valid: ${list.join('; ')}`, cause, details: { issues } });
    this.issues = issues;
  }
}
