import type { Attempt, AttemptStatus, Rollout } from '@agentlightning/core';
import { assertId } from '@agentlightning/core/protocol';
import type { AttemptPatch } from '@agentlightning/core/store';
import type { OperationContext } from '../../sql/operation-runner.ts';
import { toJson } from '../../sql/row-value.ts';
import type { SqlValue } from '../../sql/sql-dialect.ts';
import { type AttemptMove, loadAttempt, moveAttempt, recordAttemptChange } from '../records/attempt-record.ts';
import { isQueued, loadRollout } from '../records/rollout-record.ts';

/** A request to update an attempt. */
export interface UpdateAttemptRequest {
  readonly rolloutId: string;
  /** The attempt's id, or `latest`. */
  readonly attemptId: string;
  readonly patch: AttemptPatch;
}

/** Updates an attempt; the status of the latest attempt moves the rollout. */
export async function updateAttempt(context: OperationContext, request: UpdateAttemptRequest): Promise<Attempt> {
  const { rolloutId, patch } = request;
  // An empty id clears it, as in the Python store.
  if (patch.workerId !== '') assertId('workerId', patch.workerId);
  const record = await loadRollout(context, rolloutId);
  const { attempt, isCounted, isGivenBack } = await loadAttempt(context, record, request.attemptId);
  const written = await writeFields(context, attempt, patch);
  recordAttemptChange(context, written);
  if (patch.status === undefined) return written;
  const isGivenUp = isGivenBack && isFailure(patch.status);
  // Another attempt repeats a lost one. The end that its runner reports later must not use up one of the agent's attempts.
  const isRepeated = !isCounted && record.latestAttemptId !== attempt.attemptId;
  const move = {
    to: patch.status,
    ...(isRepeated ? { isCounted, isGivenBack } : {}),
    ...(isGivenUp ? requeuedMove(record.rollout) : {}),
  };
  const moved = await moveAttempt(context, { record, attempt: written }, move);
  return moved.attempt;
}

/** The attempt of a rollout that was already requeued: a failure does not count and the rollout stays queued. */
function requeuedMove({ status }: Rollout): Omit<AttemptMove, 'to'> {
  return { isCounted: false, isGivenBack: true, ...(isQueued(status) ? { rolloutStatus: null } : {}) };
}

function isFailure(status: AttemptStatus): boolean {
  return status === 'failed' || status === 'timeout' || status === 'unresponsive';
}

async function writeFields(context: OperationContext, attempt: Attempt, patch: AttemptPatch): Promise<Attempt> {
  const fields: [column: string, value: SqlValue][] = [];
  const workerId = patch.workerId === '' ? null : patch.workerId;
  if (workerId !== undefined) fields.push(['worker_id', workerId]);
  // The time of the store, which expires attempts: the clocks of workers differ.
  const heartbeatTimeMs = patch.lastHeartbeatTimeMs === undefined ? null : context.nowMs;
  if (heartbeatTimeMs !== null) fields.push(['last_heartbeat_time_ms', heartbeatTimeMs]);
  if (patch.metadata !== undefined) fields.push(['metadata', toJson(patch.metadata, 'Attempt metadata')]);
  if (fields.length === 0) return attempt;
  const assignments = fields.map(([column]) => `${column} = ?`).join(', ');
  await context.db.run(`UPDATE attempts SET ${assignments} WHERE rollout_id = ? AND attempt_id = ?`, [
    ...fields.map(([, value]) => value),
    attempt.rolloutId,
    attempt.attemptId,
  ]);
  return {
    ...attempt,
    workerId: workerId === undefined ? attempt.workerId : workerId,
    lastHeartbeatTimeMs: heartbeatTimeMs ?? attempt.lastHeartbeatTimeMs,
    metadata: patch.metadata ?? attempt.metadata,
  };
}
