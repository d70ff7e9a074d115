import type { Clock } from '@agentlightning/core';
import type { ClaimOptions, RetentionPolicy } from '@agentlightning/core/store';
import type { AttemptQuotas } from './attempt-quotas.ts';
import type { IdempotentRequest } from './operations/answer-once.ts';

/** What an `SqlStore` works with. */
export interface SqlStoreOptions {
  readonly clock: Clock;
  /** How long a claimed attempt may stay unheard of, in milliseconds. */
  readonly claimLeaseMs: number;
  /** How often the watchdog looks for attempts whose time is up, in milliseconds. */
  readonly watchdogIntervalMs: number;
  /** How many of a rollout's claims may be lost before it fails. */
  readonly maxLostClaims: number;
  readonly quotas: AttemptQuotas;
  /** What the store deletes by itself; null for nothing. */
  readonly retention: RetentionPolicy | null;
}

/** How to delete from an `SqlStore`. */
export interface SqlDeletionOptions {
  /** Makes the deletion repeatable: one that is asked for again gets the same answer, or is completed. */
  readonly idempotency?: IdempotentRequest | undefined;
}

/** How to claim from an `SqlStore`. */
export interface SqlClaimOptions extends ClaimOptions {
  /** Makes the claim repeatable: a claim that is sent again gets the same rollouts, and no others. */
  readonly idempotency?: IdempotentRequest;
}
