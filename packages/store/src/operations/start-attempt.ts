import type { AttemptedRollout } from '@agentlightning/core';
import type { OperationContext } from '../operation.ts';
import { closeOpenAttempts, openAttempt } from './attempt-record.ts';
import { isQueued, loadRollout, moveRollout, withAttempt } from './rollout-record.ts';

/**
 * Opens another attempt by hand. Whatever attempt was open before is given up on.
 *
 * @throws IllegalTransitionError when the rollout has succeeded
 */
export async function startAttempt(
  context: OperationContext,
  rolloutId: string,
  workerId: string | null,
): Promise<AttemptedRollout> {
  const record = await loadRollout(context, rolloutId);
  await closeOpenAttempts(context, record, { to: 'unresponsive', isCounted: false, isGivenBack: true });
  // A rollout is tried again by way of the queue, even if it only passes through.
  const queued = isQueued(record.rollout.status)
    ? record.rollout
    : await moveRollout(context, record.rollout, 'requeuing');
  const rollout = await moveRollout(context, queued, 'preparing');
  return withAttempt(rollout, await openAttempt(context, rolloutId, { workerId, claimLeaseMs: null }));
}
