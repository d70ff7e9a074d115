import type { AttemptedRollout, Rollout } from '@agentlightning/core';
import type { OperationContext } from '../../sql/operation.ts';
import { closeOpenAttempts, openAttempt } from '../records/attempt-record.ts';
import { isQueued, loadRollout, moveRollout, reopenRollout, withAttempt } from '../records/rollout-record.ts';

/**
 * Opens another attempt explicitly. A previously open attempt becomes unresponsive.
 *
 * @throws IllegalTransitionError when the rollout has succeeded, unless the client uses the 0.3 protocol
 */
export async function startAttempt(
  context: OperationContext,
  rolloutId: string,
  workerId: string | null,
): Promise<AttemptedRollout> {
  const record = await loadRollout(context, rolloutId);
  await closeOpenAttempts(context, record, { to: 'unresponsive', isCounted: false, isGivenBack: true });
  const rollout = await moveToPreparing(context, record.rollout);
  return withAttempt(rollout, await openAttempt(context, rolloutId, { workerId, claimLeaseMs: null }));
}

/** A retry is requeued within this transaction, as the state machine requires. */
async function moveToPreparing(context: OperationContext, rollout: Rollout): Promise<Rollout> {
  if (context.isLenient === true && rollout.status === 'succeeded') return await reopenRollout(context, rollout);
  const queued = isQueued(rollout.status) ? rollout : await moveRollout(context, rollout, 'requeuing');
  return await moveRollout(context, queued, 'preparing');
}
