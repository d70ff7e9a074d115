import type { Attempt, AttemptStatus, Rollout } from '@agentlightning/core';
import { assertId } from '@agentlightning/core/protocol';
import type { AttemptPatch } from '@agentlightning/core/store';
import type { OperationContext } from '../operation.ts';
import { toJson } from '../row-value.ts';
import type { SqlValue } from '../sql-value.ts';
import { type AttemptMove, loadAttempt, moveAttempt, noteAttempt } from './attempt-record.ts';
import { isQueued, loadRollout } from './rollout-record.ts';

/** Which attempt to change, and how. */
export interface UpdateAttemptRequest {
  readonly rolloutId: string;
  /** The attempt's id, or `latest`. */
  readonly attemptId: string;
  readonly patch: AttemptPatch;
}

/** Changes an attempt; its status moves the rollout if it is the latest. */
export async function updateAttempt(context: OperationContext, request: UpdateAttemptRequest): Promise<Attempt> {
  const { rolloutId, patch } = request;
  assertId('workerId', patch.workerId);
  const record = await loadRollout(context, rolloutId);
  const { attempt, isGivenBack } = await loadAttempt(context, record, request.attemptId);
  const written = await writeFields(context, attempt, patch);
  noteAttempt(context, written);
  if (patch.status === undefined) return written;
  const isGivenUp = isGivenBack && isFailure(patch.status);
  const move = { to: patch.status, ...(isGivenUp ? givenUp(record.rollout) : {}) };
  const moved = await moveAttempt(context, { record, attempt: written }, move);
  return moved.attempt;
}

/** Its rollout was sent back to the queue for another try, where it stays: that nothing came of this one costs it nothing. */
function givenUp({ status }: Rollout): Omit<AttemptMove, 'to'> {
  return { isCounted: false, isGivenBack: true, ...(isQueued(status) ? { rolloutStatus: null } : {}) };
}

function isFailure(status: AttemptStatus): boolean {
  return status === 'failed' || status === 'timeout' || status === 'unresponsive';
}

async function writeFields(context: OperationContext, attempt: Attempt, patch: AttemptPatch): Promise<Attempt> {
  const fields: [column: string, value: SqlValue][] = [];
  if (patch.workerId !== undefined) fields.push(['worker_id', patch.workerId]);
  if (patch.lastHeartbeatTimeMs !== undefined) fields.push(['last_heartbeat_time_ms', patch.lastHeartbeatTimeMs]);
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
    workerId: patch.workerId ?? attempt.workerId,
    lastHeartbeatTimeMs: patch.lastHeartbeatTimeMs ?? attempt.lastHeartbeatTimeMs,
    metadata: patch.metadata ?? attempt.metadata,
  };
}
