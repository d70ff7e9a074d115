import type { Clock } from '../base/clock.ts';

/** The used part of a Node HTTP server. */
export interface ClosingServer {
  close(closed: () => void): unknown;
  closeIdleConnections(): void;
  closeAllConnections(): void;
}

/** Poll interval for idle connections, in milliseconds. */
const pollIntervalMs = 20;

/**
 * Closes a server: it accepts no new connections and closes existing ones once idle.
 *
 * @param graceMs - grace period in milliseconds, after which pending connections are closed: a stalled reader would
 * keep its connection open forever
 * @returns when all connections are closed
 *
 * @example
 * ```ts
 * await closeServer(server, 2000, systemClock);
 * ```
 */
export async function closeServer(server: ClosingServer, graceMs: number, clock: Clock): Promise<void> {
  const isOver = new AbortController();
  const cut = (): void => server.closeAllConnections();
  void clock.sleep(graceMs, isOver.signal).then(cut, () => undefined);
  await new Promise<void>((resolve) => {
    const letGo = (): void => server.closeIdleConnections();
    const timer = setInterval(letGo, pollIntervalMs);
    server.close(() => {
      clearInterval(timer);
      resolve();
    });
    letGo();
  });
  isOver.abort();
}
