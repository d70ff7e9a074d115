import type { AttemptStatus } from './attempt.ts';
import { IllegalTransitionError } from './errors/illegal-transition-error.ts';

/** Where a rollout is in its life. */
export type RolloutStatus = 'queuing' | 'preparing' | 'running' | 'succeeded' | 'failed' | 'requeuing' | 'cancelled';

/**
 * The state machine of a rollout, as data: from each status, the ones it may go to.
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

/** The statuses after which nothing more happens. */
export const terminalRolloutStatuses: readonly RolloutStatus[] = ['succeeded', 'failed', 'cancelled'];

/** Whether a rollout with this status is over. */
export function isTerminalRolloutStatus(status: RolloutStatus): boolean {
  return terminalRolloutStatuses.includes(status);
}

/**
 * Lets a legal status change pass; staying where one is always is legal.
 *
 * @throws IllegalTransitionError when the state machine does not have this change
 */
export function assertRolloutTransition(rolloutId: string, from: RolloutStatus, to: RolloutStatus): void {
  if (from !== to && !rolloutTransitions[from].includes(to)) {
    throw new IllegalTransitionError(`Rollout ${rolloutId}`, from, to);
  }
}

/** The metadata field of a rollout, and of its last attempt, that says that its runners were lost too often. */
export const lostClaimsReasonKey = 'agentlightning.lost_claims_reason';

/** What decides whether a failed attempt is followed by another. */
export interface RetryPolicy {
  /** The attempt's number, from 1. */
  readonly sequenceId: number;
  /** How many attempts the rollout may have. */
  readonly maxAttempts: number;
  /** The attempt outcomes that are worth another attempt. */
  readonly retryCondition: readonly AttemptStatus[];
}

/** The status a rollout takes from its latest attempt: a failed attempt requeues it while retries are left. */
export function rolloutStatusFromAttempt(attempt: AttemptStatus, policy: RetryPolicy): RolloutStatus {
  if (attempt === 'preparing' || attempt === 'running' || attempt === 'succeeded') return attempt;
  const isRetried = policy.retryCondition.includes(attempt) && policy.sequenceId < policy.maxAttempts;
  return isRetried ? 'requeuing' : 'failed';
}
