import type { AttemptStatus, Rollout } from '@agentlightning/core';
import { lostClaimsReasonKey } from '@agentlightning/core/protocol';
import type { RolloutRecord } from '../../rows/row.ts';
import type { OperationContext } from '../../sql/operation-runner.ts';
import { readInteger, readText } from '../../sql/row-value.ts';
import type { SqlCondition } from '../../sql/sql-dialect.ts';
import { loadAttempt, moveAttempt } from '../records/attempt-record.ts';
import { loadRollout } from '../records/rollout-record.ts';
import { lockRows } from '../records/row-lock.ts';
import { isStoreTimeStale, maxClockSkewMs, type StoreTime } from '../records/store-time.ts';
import { updateRollout } from '../rollouts/update-rollout.ts';
import { updateAttempt } from './update-attempt.ts';

/** Rules of the expiry of attempts. */
export interface ExpiryRules {
  /** Number of expired claims after which a rollout fails. */
  readonly maxLostClaims: number;
  /** The store time at the search for expired attempts. */
  readonly seen: StoreTime;
}

/** An expired attempt. */
export interface ExpiredAttempt {
  readonly rolloutId: string;
  readonly attemptId: string;
  /** `lease`: claimed without a heartbeat since. `lost`: the lease of its worker has expired. */
  readonly reason: 'timeout' | 'unresponsive' | 'lease' | 'lost';
}

/** Finds open attempts that exceeded their timeout, missed heartbeats, or whose lease or worker's lease expired. */
export async function findExpiredAttempts(
  context: OperationContext,
  resumedMs: number | null,
): Promise<readonly ExpiredAttempt[]> {
  const { nowMs } = context;
  // Heartbeats of the worker for the attempt extend its lease during a slow preparation.
  const workerHeard = 'CASE WHEN w.current_attempt_id = a.attempt_id THEN w.last_heartbeat_time_ms END';
  const times = {
    begun: noEarlierThan('a.start_time_ms', { resumedMs, nowMs }),
    heard: noEarlierThan('coalesce(a.last_heartbeat_time_ms, a.start_time_ms)', { resumedMs, nowMs }),
    worker_heard: noEarlierThan(`coalesce(${workerHeard}, a.start_time_ms)`, { resumedMs, nowMs }),
    lease_heard: noEarlierThan('w.last_heartbeat_time_ms', { resumedMs, nowMs }),
  };
  const columns = Object.entries(times).map(([name, { sql }]) => `${sql} AS ${name}`);
  // A limit that passed after the last heartbeat of a worker with a lease has no effect: the worker may be lost.
  const rows = await context.db.all(
    `SELECT * FROM (
       SELECT rollout_id, attempt_id, sequence_id, start_time_ms, position, CASE
         WHEN lease_heard + lease_ms <= ? THEN 'lost'
         WHEN begun + timeout_ms < ? AND (lease_ms IS NULL OR lease_heard > begun + timeout_ms) THEN 'timeout'
         WHEN heard + unresponsive_ms < ? AND (lease_ms IS NULL OR lease_heard > heard + unresponsive_ms)
           THEN 'unresponsive'
         WHEN status = 'preparing' AND last_heartbeat_time_ms IS NULL
           AND begun + claim_lease_ms < ? AND worker_heard + claim_lease_ms < ? THEN 'lease'
       END AS reason
       FROM (
         SELECT a.rollout_id, a.attempt_id, a.sequence_id, a.start_time_ms, a.status, a.last_heartbeat_time_ms,
           a.lease_until_ms - a.start_time_ms AS claim_lease_ms, r.position, r.timeout_ms, r.unresponsive_ms, w.lease_ms,
           ${columns.join(', ')}
         FROM attempts AS a
         JOIN rollouts AS r ON r.rollout_id = a.rollout_id
         LEFT JOIN workers AS w ON w.worker_id = a.worker_id
         WHERE a.status IN ('preparing', 'running')
       ) AS open_attempts
     ) AS expired WHERE reason IS NOT NULL ORDER BY start_time_ms, position, sequence_id`,
    [nowMs, nowMs, nowMs, nowMs, nowMs, ...Object.values(times).flatMap(({ parameters }) => parameters)],
  );
  return rows.map((row) => ({
    rolloutId: readText(row, 'rollout_id'),
    attemptId: readText(row, 'attempt_id'),
    reason: readText(row, 'reason') as ExpiredAttempt['reason'],
  }));
}

/** Whether {@link expireAttempts} has anything to do. */
export async function isAnythingExpired(context: OperationContext, resumedMs: number | null): Promise<boolean> {
  const lost = isRemovable({ nowMs: context.nowMs, resumedMs });
  const [worker] = await context.db.all(`SELECT 1 FROM workers WHERE ${lost.sql} LIMIT 1`, lost.parameters);
  return worker !== undefined || (await findExpiredAttempts(context, resumedMs)).length > 0;
}

/** Ends expired attempts, deletes lost workers, and returns the number of the attempts. */
export async function expireAttempts(context: OperationContext, rules: ExpiryRules): Promise<number> {
  const { resumedMs } = rules.seen;
  // After a clock jump, missed heartbeats cannot be determined: the next round records the jump first.
  if (isStoreTimeStale(context, rules.seen)) return 0;
  // Found, locked and rechecked: an attempt may have ended or sent a heartbeat meanwhile.
  const found = await findExpiredAttempts(context, resumedMs);
  const suspects = new Set(found.map((attempt) => attempt.rolloutId));
  await lockRows(context, 'rollouts', [...suspects]);
  const expired = (await findExpiredAttempts(context, resumedMs)).filter((attempt) => suspects.has(attempt.rolloutId));
  for (const { rolloutId, attemptId, reason } of expired) {
    const record = await loadRollout(context, rolloutId);
    if (reason === 'lease' || reason === 'lost') {
      await returnToQueue(context, { record, attemptId, maxLostClaims: rules.maxLostClaims });
      continue;
    }
    const { attempt } = await loadAttempt(context, record, attemptId);
    const to: AttemptStatus = reason;
    await moveAttempt(context, { record, attempt }, { to });
  }
  await deleteLostWorkers(context, resumedMs);
  return expired.length;
}

/** Deletes workers that have left, and lost ones some time later: claims of a lost worker may still be on their way. */
async function deleteLostWorkers(context: OperationContext, resumedMs: number | null): Promise<void> {
  const removable = isRemovable({ nowMs: context.nowMs, resumedMs });
  await context.db.run(
    `DELETE FROM workers WHERE ${removable.sql} AND NOT EXISTS (
       SELECT 1 FROM attempts AS a WHERE a.worker_id = workers.worker_id AND a.status IN ('preparing', 'running')
     )`,
    removable.parameters,
  );
}

/** Retention of a lost worker, in milliseconds. */
const lostWorkerKeepMs = 60_000;

function isRemovable(at: { readonly resumedMs: number | null; readonly nowMs: number }): SqlCondition {
  const heard = noEarlierThan('last_heartbeat_time_ms', at);
  return {
    sql: `${heard.sql} + lease_ms + (CASE WHEN lease_ms = 0 THEN 0 ELSE ? END) <= ?`,
    parameters: [...heard.parameters, lostWorkerKeepMs, at.nowMs],
  };
}

/**
 * Returns a rollout with an expired lease to the queue, which does not count as an attempt. A rollout that crashes
 * every runner would be requeued forever, so it fails after `maxLostClaims`.
 */
async function returnToQueue(
  context: OperationContext,
  lost: { readonly record: RolloutRecord; readonly attemptId: string; readonly maxLostClaims: number },
): Promise<void> {
  const { record, attemptId, maxLostClaims } = lost;
  const { rollout } = record;
  const { attempt } = await loadAttempt(context, record, attemptId);
  const count = (await countLostClaims(context, rollout)) + 1;
  const isLatest = record.latestAttemptId === attemptId;
  if (count < maxLostClaims || !isLatest) {
    const move = { to: 'unresponsive', isCounted: false, rolloutStatus: 'requeuing' } as const;
    await moveAttempt(context, { record, attempt }, move);
    return;
  }
  const reason = `claimed ${count} times by runners that were never heard of again`;
  const { rolloutId } = rollout;
  const move = { to: 'unresponsive', isCounted: false, rolloutStatus: 'failed' } as const;
  await moveAttempt(context, { record, attempt }, move);
  const attemptMetadata = { ...attempt.metadata, [lostClaimsReasonKey]: reason };
  await updateAttempt(context, { rolloutId, attemptId, patch: { metadata: attemptMetadata } });
  await updateRollout(context, rolloutId, { metadata: { ...rollout.metadata, [lostClaimsReasonKey]: reason } });
}

/** Number of expired claims of a rollout since it was last requeued manually. */
async function countLostClaims(context: OperationContext, rollout: Rollout): Promise<number> {
  const [row] = await context.db.all(
    'SELECT count(*) AS lost FROM attempts WHERE rollout_id = ? AND is_counted = 0 AND is_given_back = 0',
    [rollout.rolloutId],
  );
  return row === undefined ? 0 : readInteger(row, 'lost');
}

/**
 * The time in a column, but not before the store resumed watching and not after the current time, which excludes a
 * clock that was ahead and was set back.
 */
function noEarlierThan(
  column: string,
  at: { readonly resumedMs: number | null; readonly nowMs: number },
): SqlCondition {
  if (at.resumedMs === null) return { sql: column, parameters: [] };
  return {
    sql: `(CASE WHEN ${column} < ? OR ${column} > ? THEN ? ELSE ${column} END)`,
    parameters: [at.resumedMs, at.nowMs + maxClockSkewMs, at.resumedMs],
  };
}
