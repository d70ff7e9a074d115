import type { OperationContext } from '../operation.ts';
import { readNumber, readNumberOrNull } from '../row-value.ts';

/** What the store's watchdogs know of time. */
export interface StoreTime {
  /** When one of them last looked, in Unix milliseconds. */
  readonly seenMs: number;
  /**
   * When they could look again after a time in which nobody did, or in which the clock jumped, in Unix
   * milliseconds; null when that never was. What is silent counts as silent from then on.
   */
  readonly resumedMs: number | null;
}

/** How often the time is noted, in milliseconds: seldom, so that a store with nothing to do hardly writes. */
const noteEveryMs = 30_000;

/**
 * How far the clock may be ahead of when a watchdog last looked, in milliseconds. Beyond it nobody knows whether
 * those who were silent had somebody to talk to: the store was away, the machine slept, or its clock was set.
 */
export const longestUnwatchedMs = 300_000;

/** How far the clock may fall behind, in milliseconds: as far as the clocks of several machines differ. */
export const largestClockDifferenceMs = 60_000;

/** Reads what is known of time; null in a new store. */
export async function readStoreTime(context: OperationContext): Promise<StoreTime | null> {
  const [row] = await context.db.all("SELECT seen_ms, resumed_ms FROM store_time WHERE subject = 'watchdog'");
  if (row === undefined) return null;
  return { seenMs: readNumber(row, 'seen_ms'), resumedMs: readNumberOrNull(row, 'resumed_ms') };
}

/** Whether the time is to be noted again. */
export function isStoreTimeOld({ nowMs }: Pick<OperationContext, 'nowMs'>, time: StoreTime | null): boolean {
  return time === null || Math.abs(nowMs - time.seenMs) >= noteEveryMs;
}

/** Notes the time, and that the store was not watched for a while if it was not. */
export async function noteStoreTime(context: OperationContext): Promise<StoreTime> {
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
  return nowMs - known.seenMs > longestUnwatchedMs || known.seenMs - nowMs > largestClockDifferenceMs;
}
