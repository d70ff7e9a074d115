import type { ListenAddress } from './listen-address.ts';
import { listenError } from './listen-error.ts';

/** The used part of a Node server, HTTP or other. */
export interface ListeningServer {
  once(event: 'error', listener: (error: Error) => void): unknown;
  listen(port: number, host: string, listener: () => void): unknown;
  address(): { readonly port: number } | string | null;
}

/**
 * Starts listening.
 *
 * @param what - the server, which starts the error message: `the gateway`
 * @param at - the port can be 0 for any free one
 * @returns the actual port
 * @throws AgentLightningError PORT_IN_USE when the port is in use; CONFIG when the address is unavailable
 *
 * @example
 * ```ts
 * const port = await listen(createServer(handleRequest), 'the gateway', { host: '127.0.0.1', port: 0 });
 * ```
 */
export function listen(server: ListeningServer, what: string, at: ListenAddress): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause) => reject(listenError(what, at, cause)));
    server.listen(at.port, at.host, () => {
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : at.port);
    });
  });
}
