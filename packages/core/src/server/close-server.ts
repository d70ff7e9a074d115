import type { Clock } from '../clock.ts';

/** What is needed of a server of Node's HTTP to close it. */
export interface ClosingServer {
  close(closed: () => void): unknown;
  closeIdleConnections(): void;
  closeAllConnections(): void;
}

/** How often it is looked after connections that have nothing to do any more, in milliseconds. */
const lookEveryMs = 20;

/**
 * Closes a server: it takes no more connections, and lets those there are go as soon as no request is on them any more.
 *
 * @param graceMs - after how long those are cut that still have one, in milliseconds: a reader who does not read would
 * keep its connection for ever
 * @returns when all connections have ended
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
    const timer = setInterval(letGo, lookEveryMs);
    server.close(() => {
      clearInterval(timer);
      resolve();
    });
    letGo();
  });
  isOver.abort();
}
