/** Where time comes from. Every timer takes one, so that tests can move time by hand. */
export interface Clock {
  /** The time now, in Unix milliseconds; may have a fraction. */
  now(): number;
  /** Resolves after `ms` milliseconds, or rejects with the signal's reason when it aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** A timer cannot wait longer than this: about 24 days. */
const maxTimerMs = 2 ** 31 - 1;

// It never changes, and asking for it takes longer than asking for the time.
const { timeOrigin } = performance;

/** The clock on the wall. */
export const systemClock: Clock = {
  now: () => timeOrigin + performance.now(),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason);
        return;
      }
      const onAbort = (): void => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      let timer: NodeJS.Timeout;
      const wait = (restMs: number): void => {
        timer = setTimeout(
          () => {
            if (restMs > maxTimerMs) return wait(restMs - maxTimerMs);
            signal?.removeEventListener('abort', onAbort);
            resolve();
          },
          Math.min(restMs, maxTimerMs),
        );
      };
      wait(ms);
      signal?.addEventListener('abort', onAbort, { once: true });
    }),
};
