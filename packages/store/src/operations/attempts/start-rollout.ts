import type { AttemptedRollout } from '@agentlightning/core';
import { hasAttempt, type StartRolloutRequest } from '@agentlightning/core/store';
import type { OperationContext } from '../../sql/operation.ts';
import { openAttempt } from '../records/attempt-record.ts';
import { findRollout, withAttempt } from '../records/rollout-record.ts';
import { lockRows } from '../records/row-lock.ts';
import { insertRollout } from '../rollouts/enqueue-rollouts.ts';
import { startAttempt } from './start-attempt.ts';

/** Starts a rollout without the queue; a rollout that already has an attempt is left unchanged. */
export async function startRollout(context: OperationContext, request: StartRolloutRequest): Promise<AttemptedRollout> {
  const workerId = request.workerId ?? null;
  if (request.rolloutId !== undefined) await lockRows(context, 'rollouts', [request.rolloutId]);
  const known = request.rolloutId === undefined ? null : await findRollout(context, request.rolloutId);
  if (known !== null) {
    return hasAttempt(known) ? known : await startAttempt(context, known.rolloutId, workerId);
  }
  const rollout = await insertRollout(context, request, 'preparing');
  return withAttempt(rollout, await openAttempt(context, rollout.rolloutId, { workerId, claimLeaseMs: null }));
}
