/** Source of time. Every timer takes one, so that tests can control time. */
export interface Clock {
  /** Current time in Unix milliseconds; may have a fraction. */
  now(): number;
  /** Resolves after `ms` milliseconds; rejects with the signal's reason when it aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** Maximum delay of a timer: about 24 days. */
const maxTimerMs = 2 ** 31 - 1;

// Constant, and slow to read.
const { timeOrigin } = performance;

/** The system clock. */
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
