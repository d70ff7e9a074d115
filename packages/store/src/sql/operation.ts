import type { Clock } from '@agentlightning/core';
import type { AttemptQuotas } from '../attempt-quotas.ts';
import type { ChangeRecorder } from '../changes/change-feed.ts';
import type { SqlDialect } from './sql-dialect.ts';
import type { SqlConnection } from './sql-driver.ts';

/** The context of an operation: one transaction with a fixed time. */
export interface OperationContext {
  readonly db: SqlConnection;
  readonly dialect: SqlDialect;
  /** The current time in Unix milliseconds. */
  readonly nowMs: number;
  /** Records the changes that are published after the commit. */
  readonly changes: ChangeRecorder;
  readonly quotas: AttemptQuotas;
  /**
   * Whether the operation has the semantics of the Agent Lightning 0.3 protocol where the store is stricter: unknown
   * resources are accepted, numbers are reserved for unknown attempts, and finished rollouts take new attempts.
   * @default false
   */
  readonly isLenient?: boolean;
}

/** The time of an operation, rounded to microseconds: the resolution of the store protocol's seconds. */
export function operationTime(clock: Clock): number {
  return Math.round(clock.now() * 1000) / 1000;
}
