/**
 * Leases, timeouts and retention compare stored times with a clock that may be wrong: a machine wakes from sleep, a server
 * restarts with a clock one year ahead, or was down for an hour in which no runner could send a heartbeat. Watchdogs therefore
 * record the time of their rounds. A gap between rounds is an unobserved period: all leases and timeouts restart at its end,
 * also those with future times, and automatic retention waits for an hour. A timeout may then be late by its own length.
 * Machines whose clocks differ by more than `maxClockSkewMs` detect each other's rounds as jumps and expire nothing: keep
 * clocks synchronised.
 *
 * A claim that was lost consumes no attempt, since the agent is not the cause; `maxLostClaims` limits the claims of a rollout
 * whose runner crashes at once.
 *
 * @module
 */
import type { OperationContext } from '../../sql/operation-runner.ts';
import { readNumber, readNumberOrNull } from '../../sql/row-value.ts';

/** The clock record of the store's watchdogs. */
export interface StoreTime {
  /** Time of the last recorded round of a watchdog, in Unix milliseconds. */
  readonly seenMs: number;
  /**
   * Time at which watching resumed after downtime or a clock jump, in Unix milliseconds; null when there was none.
   * Missed heartbeats are measured from then on.
   */
  readonly resumedMs: number | null;
}

/** Recording interval in milliseconds: long, to keep idle stores nearly free of writes. */
const recordIntervalMs = 30_000;

/**
 * Maximum time since the last recorded round, in milliseconds. After a longer gap, missed heartbeats are inconclusive:
 * the store was down, the machine was suspended, or its clock was set.
 */
export const maxUnwatchedMs = 300_000;

/** Tolerated backward clock difference in milliseconds: the clock skew between machines. */
export const maxClockSkewMs = 60_000;

/** Reads the clock record; null in a new store. */
export async function readStoreTime(context: OperationContext): Promise<StoreTime | null> {
  const [row] = await context.db.all("SELECT seen_ms, resumed_ms FROM store_time WHERE subject = 'watchdog'");
  if (row === undefined) return null;
  return { seenMs: readNumber(row, 'seen_ms'), resumedMs: readNumberOrNull(row, 'resumed_ms') };
}

/** Whether the time must be recorded again. */
export function isStoreTimeStale({ nowMs }: Pick<OperationContext, 'nowMs'>, time: StoreTime | null): boolean {
  return time === null || Math.abs(nowMs - time.seenMs) >= recordIntervalMs;
}

/** Records the time, and a resumption after a gap. */
export async function recordStoreTime(context: OperationContext): Promise<StoreTime> {
  const known = await readStoreTime(context);
  const { nowMs } = context;
  const time = { seenMs: nowMs, resumedMs: wasUnwatched(known, nowMs) ? nowMs : (known?.resumedMs ?? null) };
  await context.db.run(
    `INSERT INTO store_time (subject, seen_ms, resumed_ms) VALUES ('watchdog', ?, ?)
     ON CONFLICT (subject) DO UPDATE SET seen_ms = excluded.seen_ms, resumed_ms = excluded.resumed_ms`,
    [time.seenMs, time.resumedMs],
  );
  return time;
}

function wasUnwatched(known: StoreTime | null, nowMs: number): boolean {
  if (known === null) return false;
  return nowMs - known.seenMs > maxUnwatchedMs || known.seenMs - nowMs > maxClockSkewMs;
}
