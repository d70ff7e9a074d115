import type { Clock } from '@agentlightning/core';
import type { ClaimOptions, RetentionPolicy } from '@agentlightning/core/store';
import type { AttemptQuotas } from './attempt-quotas.ts';
import type { IdempotentRequest } from './operations/records/run-idempotent.ts';

/** Options of an `SqlStore`. */
export interface SqlStoreOptions {
  readonly clock: Clock;
  /** Adjusts the clock to the time of the database, in each round of the watchdog. */
  readonly adjustClock?: () => Promise<void>;
  /** Lease of a claimed attempt in milliseconds. */
  readonly claimLeaseMs: number;
  /** Interval of the watchdog's check for expired attempts in milliseconds. */
  readonly watchdogIntervalMs: number;
  /** Number of expired claims after which a rollout fails. */
  readonly maxLostClaims: number;
  readonly quotas: AttemptQuotas;
  /** Policy of the automatic deletion; null for none. */
  readonly retention: RetentionPolicy | null;
}

/** Options of deletions from an `SqlStore`. */
export interface SqlDeletionOptions {
  /** Makes the deletion idempotent: a repeated request returns the same result, or completes the deletion. */
  readonly idempotency?: IdempotentRequest | undefined;
}

/** Options of claims from an `SqlStore`. */
export interface SqlClaimOptions extends ClaimOptions {
  /** Makes the claim idempotent: a repeated claim returns the same rollouts and no others. */
  readonly idempotency?: IdempotentRequest;
}
