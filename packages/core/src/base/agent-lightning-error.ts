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
