import { IllegalTransitionError } from '../base/agent-lightning-error.ts';
import type { AttemptStatus } from './attempt.ts';

/** Lifecycle status of a rollout. */
export type RolloutStatus = 'queuing' | 'preparing' | 'running' | 'succeeded' | 'failed' | 'requeuing' | 'cancelled';

/**
 * Rollout state machine: the permitted next statuses of each status.
 *
 * Terminal statuses are final, except that `requeuing` reopens a failed or cancelled rollout explicitly.
 */
export const rolloutTransitions: Readonly<Record<RolloutStatus, readonly RolloutStatus[]>> = {
  queuing: ['preparing', 'running', 'cancelled', 'failed', 'succeeded'],
  preparing: ['running', 'succeeded', 'failed', 'requeuing', 'cancelled', 'queuing'],
  running: ['succeeded', 'failed', 'requeuing', 'cancelled', 'queuing'],
  requeuing: ['preparing', 'running', 'succeeded', 'failed', 'cancelled', 'queuing'],
  succeeded: [],
  failed: ['requeuing'],
  cancelled: ['requeuing'],
};

/** The final statuses. */
export const terminalRolloutStatuses: readonly RolloutStatus[] = ['succeeded', 'failed', 'cancelled'];

/** Whether the status is final. */
export function isTerminalRolloutStatus(status: RolloutStatus): boolean {
  return terminalRolloutStatuses.includes(status);
}

/**
 * Validates a status transition; keeping the current status is permitted.
 *
 * @throws IllegalTransitionError when the state machine has no such transition
 */
export function assertRolloutTransition(rolloutId: string, from: RolloutStatus, to: RolloutStatus): void {
  if (from !== to && !rolloutTransitions[from].includes(to)) {
    throw new IllegalTransitionError(`Rollout ${rolloutId}`, from, to);
  }
}

/** Metadata field, of a rollout and its last attempt, with the reason for exceeding the limit of lost claims. */
export const lostClaimsReasonKey = 'agentlightning.lost_claims_reason';

/** Retry conditions of a rollout. */
export interface RetryPolicy {
  /** The attempt's number, from 1. */
  readonly sequenceId: number;
  /** Maximum number of attempts of the rollout. */
  readonly maxAttempts: number;
  /** Attempt outcomes that are retried. */
  readonly retryCondition: readonly AttemptStatus[];
}

/** Rollout status from its latest attempt: a failed attempt requeues the rollout while retries are left. */
export function rolloutStatusFromAttempt(attempt: AttemptStatus, policy: RetryPolicy): RolloutStatus {
  if (attempt === 'preparing' || attempt === 'running' || attempt === 'succeeded') return attempt;
  const isRetried = policy.retryCondition.includes(attempt) && policy.sequenceId < policy.maxAttempts;
  return isRetried ? 'requeuing' : 'failed';
}
