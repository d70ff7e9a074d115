import { AgentLightningError, type Rollout } from '@agentlightning/core';
import { assertId, failureMetadata } from '@agentlightning/core/protocol';
import type { RolloutPatch } from '@agentlightning/core/store';
import type { RolloutRecord } from '../../rows/row.ts';
import type { OperationContext } from '../../sql/operation-runner.ts';
import { toJson } from '../../sql/row-value.ts';
import type { SqlValue } from '../../sql/sql-dialect.ts';
import { closeOpenAttempts } from '../records/attempt-record.ts';
import { storeInput } from '../records/contents.ts';
import { assertResourcesExist } from '../records/read-resources.ts';
import { isQueued, loadRollout, moveRollout, recordRolloutChange } from '../records/rollout-record.ts';
import { lockRows } from '../records/row-lock.ts';
import { assertClaimable, completeConfig } from './enqueue-rollouts.ts';

/** Updates a rollout. An explicit status also closes its open attempts. */
export async function updateRollout(
  context: OperationContext,
  rolloutId: string,
  patch: RolloutPatch,
): Promise<Rollout> {
  assertId('resourcesId', patch.resourcesId);
  await lockRows(context, 'rollouts', [rolloutId]);
  await writeFields(context, rolloutId, patch);
  const record = await loadRollout(context, rolloutId);
  if (isQueued(patch.status ?? record.rollout.status)) assertClaimable([record.rollout]);
  recordRolloutChange(context, record.rollout);
  if (patch.status === undefined || patch.status === record.rollout.status) return record.rollout;
  const moved = await moveRollout(context, record.rollout, patch.status);
  await closeEndedAttempts(context, record, patch.status);
  return moved;
}

/** Closes the open attempts of a rollout that a client ended or requeued. */
async function closeEndedAttempts(
  context: OperationContext,
  record: RolloutRecord,
  status: Rollout['status'],
): Promise<void> {
  // Requeued because its runner stopped: does not count towards `maxAttempts`.
  if (isQueued(status)) await closeOpenAttempts(context, record, { to: 'unresponsive', ...givenBack });
  else if (status === 'cancelled') await cancelOpenAttempts(context, record);
  else if (status === 'failed' || status === 'succeeded') await closeOpenAttempts(context, record, { to: status });
}

const givenBack = { isCounted: false, isGivenBack: true };

/** The agents have not failed, which matters when the rollout is queued again, as by a run that is resumed. */
async function cancelOpenAttempts(context: OperationContext, record: RolloutRecord): Promise<void> {
  const { rolloutId } = record.rollout;
  const error = new AgentLightningError({ code: 'CANCELLED', message: `rollout ${rolloutId} was cancelled` });
  for (const attempt of await closeOpenAttempts(context, record, { to: 'failed', ...givenBack })) {
    const metadata = toJson(failureMetadata(attempt, error, 'infrastructure'), 'Attempt metadata');
    await context.db.run('UPDATE attempts SET metadata = ? WHERE rollout_id = ? AND attempt_id = ?', [
      metadata,
      rolloutId,
      attempt.attemptId,
    ]);
  }
}

async function writeFields(context: OperationContext, rolloutId: string, patch: RolloutPatch): Promise<void> {
  const fields: [column: string, value: SqlValue][] = [];
  if (patch.input !== undefined) fields.push(['input', await storeInput(context, { rolloutId, input: patch.input })]);
  if (patch.mode !== undefined) fields.push(['mode', patch.mode]);
  if (patch.resourcesId !== undefined) {
    if (patch.resourcesId !== null) await assertResourcesExist(context, patch.resourcesId);
    fields.push(['resources_id', patch.resourcesId]);
  }
  if (patch.metadata !== undefined) {
    fields.push(['metadata', patch.metadata === null ? null : toJson(patch.metadata, 'Rollout metadata')]);
  }
  if (patch.config !== undefined) {
    const config = completeConfig(patch.config);
    fields.push(['timeout_ms', config.timeoutMs], ['unresponsive_ms', config.unresponsiveMs]);
    fields.push(
      ['max_attempts', config.maxAttempts],
      ['retry_condition', toJson(config.retryCondition, 'Retry condition')],
    );
  }
  if (fields.length === 0) return;
  const assignments = fields.map(([column]) => `${column} = ?`).join(', ');
  await context.db.run(`UPDATE rollouts SET ${assignments} WHERE rollout_id = ?`, [
    ...fields.map(([, value]) => value),
    rolloutId,
  ]);
}
