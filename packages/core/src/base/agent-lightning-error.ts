import { defaultRemedies, type ErrorCode } from './error-catalogue.ts';

/** Options of an {@link AgentLightningError}. */
export interface AgentLightningErrorOptions {
  /** The error code, on which programs branch. */
  readonly code: ErrorCode;
  /** What failed, with the offending value. */
  readonly message: string;
  /** What to do. @default the catalogue's remedy for the code */
  readonly remedy?: string;
  /** The underlying error. */
  readonly cause?: unknown;
  /** Machine-readable facts: ids, field names, limits. Never secrets. */
  readonly details?: Readonly<Record<string, unknown>>;
}

/**
 * Base class of all errors of this project: error code, message and remedy.
 *
 * Use {@link AgentLightningError.isInstance} instead of `instanceof`: it also works with two installed copies of the
 * package.
 *
 * @example
 * ```ts
 * try {
 *   await store.getRollout('ro-unknown');
 * } catch (error) {
 *   if (AgentLightningError.isInstance(error) && error.code === 'NOT_FOUND') console.log(error.remedy);
 * }
 * ```
 */
export class AgentLightningError extends Error {
  /** Marker of this class, which also works with two copies of the package. */
  readonly isAgentLightningError: true = true;
  /** The error code. */
  readonly code: ErrorCode;
  /** The remedy, in one sentence. */
  readonly remedy: string;
  /** Machine-readable facts: ids, field names, limits. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(options: AgentLightningErrorOptions) {
    super(`[${options.code}] ${options.message}`, { cause: options.cause });
    this.name = new.target.name;
    this.code = options.code;
    this.remedy = options.remedy ?? defaultRemedies[options.code];
    this.details = options.details ?? {};
  }

  /** Whether a value is an error of this class, also from another copy of the package. */
  static isInstance(value: unknown): value is AgentLightningError {
    return typeof value === 'object' && value !== null && 'isAgentLightningError' in value;
  }
}

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

/**
 * Thrown for an unknown id: `Rollout ro-123 not found`.
 *
 * The third argument overrides the catalogue's remedy, which applies to runs and rollouts.
 */
export class NotFoundError extends AgentLightningError {
  constructor(kind: string, id: string, remedy?: string) {
    super({
      code: 'NOT_FOUND',
      message: `${kind} ${id} not found`,
      details: { kind, id },
      ...(remedy === undefined ? {} : { remedy }),
    });
  }
}

/** Thrown for a status transition that the state machine does not permit, such as `succeeded` to `running`. */
export class IllegalTransitionError extends AgentLightningError {
  constructor(subject: string, from: string, to: string) {
    super({
      code: 'ILLEGAL_TRANSITION',
      message: `${subject} is ${from} and cannot become ${to}`,
      details: { subject, from, to },
    });
  }
}
