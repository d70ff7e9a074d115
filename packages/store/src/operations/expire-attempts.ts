import type { AttemptStatus, Rollout } from '@agentlightning/core';
import { lostClaimsReasonKey } from '@agentlightning/core/store';
import type { OperationContext } from '../operation.ts';
import type { RolloutRecord } from '../row.ts';
import { readInteger, readText } from '../row-value.ts';
import type { SqlCondition } from '../sql-dialect.ts';
import { loadAttempt, moveAttempt } from './attempt-record.ts';
import { loadRollout } from './rollout-record.ts';
import { lockRows } from './row-lock.ts';
import { isStoreTimeOld, largestClockDifferenceMs, type StoreTime } from './store-time.ts';
import { updateAttempt } from './update-attempt.ts';
import { updateRollout } from './update-rollout.ts';

/** When attempts are given up on. */
export interface ExpiryRules {
  /** How many of a rollout's claims may be lost before it fails. */
  readonly maxLostClaims: number;
  /** What was known of time when the attempts were looked for. */
  readonly seen: StoreTime;
}

/** An attempt whose time is up. */
export interface ExpiredAttempt {
  readonly rolloutId: string;
  readonly attemptId: string;
  /** `lease`: claimed, and never heard of since. */
  readonly reason: 'timeout' | 'unresponsive' | 'lease';
}

/** Finds the open attempts that took too long, fell silent, or were claimed by somebody who never came back. */
export async function findExpiredAttempts(
  context: OperationContext,
  resumedMs: number | null,
): Promise<readonly ExpiredAttempt[]> {
  const { nowMs } = context;
  const begun = noEarlierThan('a.start_time_ms', { resumedMs, nowMs });
  const heard = noEarlierThan('coalesce(a.last_heartbeat_time_ms, a.start_time_ms)', { resumedMs, nowMs });
  const workerHeard = noEarlierThan('coalesce(w.last_heartbeat_time_ms, a.start_time_ms)', { resumedMs, nowMs });
  // A worker that still sends heartbeats for the attempt keeps its lease: it prepares something slow.
  const rows = await context.db.all(
    `SELECT * FROM (
       SELECT a.rollout_id, a.attempt_id, a.sequence_id, a.start_time_ms, r.position, CASE
         WHEN ${begun.sql} + r.timeout_ms < ? THEN 'timeout'
         WHEN ${heard.sql} + r.unresponsive_ms < ? THEN 'unresponsive'
         WHEN a.status = 'preparing' AND a.last_heartbeat_time_ms IS NULL
           AND ${begun.sql} + a.lease_until_ms - a.start_time_ms < ?
           AND ${workerHeard.sql} + a.lease_until_ms - a.start_time_ms < ? THEN 'lease'
       END AS reason
       FROM attempts AS a
       JOIN rollouts AS r ON r.rollout_id = a.rollout_id
       LEFT JOIN workers AS w ON w.worker_id = a.worker_id AND w.current_attempt_id = a.attempt_id
       WHERE a.status IN ('preparing', 'running')
     ) AS expired WHERE reason IS NOT NULL ORDER BY start_time_ms, position, sequence_id`,
    [begun, heard, begun, workerHeard].flatMap(({ parameters }) => [...parameters, nowMs]),
  );
  return rows.map((row) => ({
    rolloutId: readText(row, 'rollout_id'),
    attemptId: readText(row, 'attempt_id'),
    reason: readText(row, 'reason') as ExpiredAttempt['reason'],
  }));
}

/** Ends the attempts whose time is up, and gives back how many there were. */
export async function expireAttempts(context: OperationContext, rules: ExpiryRules): Promise<number> {
  const { resumedMs } = rules.seen;
  // A clock that has jumped since says nothing of anybody's silence: the next round notes it first.
  if (isStoreTimeOld(context, rules.seen)) return 0;
  // Found, held, and looked at again: somebody may have ended one, or said that it is alive, in between.
  const found = await findExpiredAttempts(context, resumedMs);
  const suspects = new Set(found.map((attempt) => attempt.rolloutId));
  await lockRows(context, 'rollouts', [...suspects]);
  const expired = (await findExpiredAttempts(context, resumedMs)).filter((attempt) => suspects.has(attempt.rolloutId));
  for (const { rolloutId, attemptId, reason } of expired) {
    const record = await loadRollout(context, rolloutId);
    if (reason === 'lease') {
      await giveBack(context, { record, attemptId, maxLostClaims: rules.maxLostClaims });
      continue;
    }
    const { attempt } = await loadAttempt(context, record, attemptId);
    const to: AttemptStatus = reason;
    await moveAttempt(context, { record, attempt }, { to });
  }
  return expired.length;
}

/**
 * Sends a rollout whose runner never came back to the queue, which costs it no attempt. One that loses every
 * runner that touches it would go round for ever, so that it fails in the end, with the reason.
 */
async function giveBack(
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

/** How many claims of a rollout were lost, since it was last sent back by hand. */
async function countLostClaims(context: OperationContext, rollout: Rollout): Promise<number> {
  const [row] = await context.db.all(
    'SELECT count(*) AS lost FROM attempts WHERE rollout_id = ? AND is_counted = 0 AND is_given_back = 0',
    [rollout.rolloutId],
  );
  return row === undefined ? 0 : readInteger(row, 'lost');
}

/**
 * The time in a column, as far as it can be held against somebody: not from before the store could watch again,
 * and not from a clock that was ahead and has been set back.
 */
function noEarlierThan(
  column: string,
  at: { readonly resumedMs: number | null; readonly nowMs: number },
): SqlCondition {
  if (at.resumedMs === null) return { sql: column, parameters: [] };
  return {
    sql: `(CASE WHEN ${column} < ? OR ${column} > ? THEN ? ELSE ${column} END)`,
    parameters: [at.resumedMs, at.nowMs + largestClockDifferenceMs, at.resumedMs],
  };
}
