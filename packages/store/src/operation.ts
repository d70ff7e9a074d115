import type { Clock } from '@agentlightning/core';
import type { AttemptQuotas } from './attempt-quotas.ts';
import type { SqlDialect } from './sql-dialect.ts';
import type { SqlConnection } from './sql-driver.ts';
import type { ChangeRecorder } from './store-change.ts';

/** What an operation works with: one transaction at one moment. */
export interface OperationContext {
  readonly db: SqlConnection;
  readonly dialect: SqlDialect;
  /** Now, in Unix milliseconds. */
  readonly nowMs: number;
  /** Where the operation notes what others may be waiting for. */
  readonly changes: ChangeRecorder;
  readonly quotas: AttemptQuotas;
  /**
   * Whether the operation has the semantics of the Agent Lightning 0.3 protocol where the store is stricter: unknown
   * resources are accepted, numbers are reserved for unknown attempts, and finished rollouts take new attempts.
   * @default false
   */
  readonly isLenient?: boolean;
}

/** When an operation that runs now takes place: to the microsecond, which is as fine as the store protocol's seconds are. */
export function operationTime(clock: Clock): number {
  return Math.round(clock.now() * 1000) / 1000;
}
