import { AgentLightningError, type ErrorCode } from '@agentlightning/core';

/** Exit codes of `agl`. */
export const exitCodes = {
  done: 0,
  /** The run ended with another verdict than `better`, or an unexpected error occurred. */
  failed: 1,
  /** A flag, configuration or task file is wrong. */
  usage: 2,
  /** Store, gateway or runtime is unavailable; the run can be resumed. */
  unavailable: 3,
  /** An agent blocked the event loop; the run can be resumed. */
  blocked: 4,
  /** The budget is reached; the run can be resumed with a larger one. */
  paused: 5,
  /** Stopped by Ctrl+C; the run can be resumed. */
  interrupted: 130,
  /** Broken pipe: the reader of the output has closed it. */
  brokenPipe: 141,
} as const;

const byErrorCode: Partial<Record<ErrorCode, number>> = {
  CONFIG: exitCodes.usage,
  UNAUTHENTICATED: exitCodes.usage,
  TASK_FILE: exitCodes.usage,
  VALIDATION: exitCodes.usage,
  NOT_FOUND: exitCodes.usage,
  CONFLICT: exitCodes.usage,
  UNREACHABLE: exitCodes.unavailable,
  UPSTREAM_FAILED: exitCodes.unavailable,
  RUNTIME_UNAVAILABLE: exitCodes.unavailable,
  STORE_FULL: exitCodes.unavailable,
  PORT_IN_USE: exitCodes.unavailable,
  BUDGET_REACHED: exitCodes.paused,
  CANCELLED: exitCodes.interrupted,
};

/** The exit code for an error. */
export function exitCodeOf(error: unknown): number {
  return AgentLightningError.isInstance(error) ? (byErrorCode[error.code] ?? exitCodes.failed) : exitCodes.failed;
}
