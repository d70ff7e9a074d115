import type { Clock } from '@agentlightning/core';

/** Timers cannot wait longer than this: about 24 days. */
const maxTimerMs = 2 ** 31 - 1;

/** Calls back once when so much time has passed, unless it is cancelled before. */
export function after(ms: number, clock: Clock, callback: () => void): { readonly cancel: () => void } {
  const controller = new AbortController();
  // A cancelled sleep rejects; there is nothing to do then.
  clock.sleep(Math.min(ms, maxTimerMs), controller.signal).then(callback, () => {});
  return { cancel: () => controller.abort() };
}

/**
 * Waits for some work, but not forever.
 *
 * @returns whether it settled in time
 * @throws what the work throws in time
 */
export async function settlesWithin(work: Promise<unknown>, ms: number, clock: Clock): Promise<boolean> {
  let timer: { readonly cancel: () => void } | null = null;
  const tooLate = new Promise<boolean>((resolve) => {
    timer = after(ms, clock, () => resolve(false));
  });
  try {
    return await Promise.race([work.then(() => true), tooLate]);
  } finally {
    (timer as { readonly cancel: () => void } | null)?.cancel();
  }
}
