import { type ErrorCode, errorCatalogue } from './error-catalogue.ts';

/** What an {@link AgentLightningError} is made of. */
export interface AgentLightningErrorOptions {
  /** Which kind of failure this is; programs branch on it. */
  readonly code: ErrorCode;
  /** What happened, with the offending value. */
  readonly message: string;
  /** What the reader should do about it. Defaults to the catalogue's remedy for the code. */
  readonly remedy?: string;
  /** The error underneath, if there is one. */
  readonly cause?: unknown;
  /** Facts a program may want: ids, field names, limits. Never secrets. */
  readonly details?: Readonly<Record<string, unknown>>;
}

/**
 * The base of every error this project throws: a typed code, what happened, and what to do.
 *
 * Use {@link AgentLightningError.isInstance} instead of `instanceof`: it also holds when two copies of
 * the package are installed.
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
  /** Marks our errors, also across duplicate installs of the package. */
  readonly isAgentLightningError: true = true;
  /** Which kind of failure this is. */
  readonly code: ErrorCode;
  /** What to do about it, in one sentence. */
  readonly remedy: string;
  /** Facts for programs: ids, field names, limits. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(options: AgentLightningErrorOptions) {
    super(`[${options.code}] ${options.message}`, { cause: options.cause });
    this.name = new.target.name;
    this.code = options.code;
    this.remedy = options.remedy ?? errorCatalogue[options.code].remedy;
    this.details = options.details ?? {};
  }

  /** Whether a value is one of our errors, also across duplicate installs of the package. */
  static isInstance(value: unknown): value is AgentLightningError {
    return typeof value === 'object' && value !== null && 'isAgentLightningError' in value;
  }
}
