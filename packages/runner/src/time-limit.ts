import type { Clock } from '@agentlightning/core';

/** The maximum delay of a timer: about 24 days. */
const maxTimerMs = 2 ** 31 - 1;

/** Calls back once after a delay, unless it is cancelled. */
export function after(ms: number, clock: Clock, callback: () => void): { readonly cancel: () => void } {
  const controller = new AbortController();
  // A cancelled sleep rejects; nothing to do.
  clock.sleep(Math.min(ms, maxTimerMs), controller.signal).then(callback, () => {});
  return { cancel: () => controller.abort() };
}

/**
 * Waits for work with a timeout.
 *
 * @returns whether it settled in time
 * @throws the error of the work, if it rejects in time
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
