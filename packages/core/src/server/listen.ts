import type { ListenAddress } from './listen-address.ts';
import { listenError } from './listen-error.ts';

/** What is needed of a server of Node, HTTP or not, to let it listen. */
export interface ListeningServer {
  once(event: 'error', listener: (error: Error) => void): unknown;
  listen(port: number, host: string, listener: () => void): unknown;
  address(): { readonly port: number } | string | null;
}

/**
 * Lets a server listen.
 *
 * @param what - the server, as the start of the message when it cannot: `the gateway`
 * @param at - its port may be 0, for any free one
 * @returns the port that it has
 * @throws AgentLightningError PORT_IN_USE when another program has the port; CONFIG when the address is not to be had
 *
 * @example
 * ```ts
 * const port = await listen(createServer(answer), 'the gateway', { host: '127.0.0.1', port: 0 });
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
