import { AgentLightningError } from '../base/agent-lightning-error.ts';
import { hostAndPort, type ListenAddress } from './listen-address.ts';

/**
 * Error for a server that cannot listen: the port is in use, or the address is unavailable.
 *
 * @param what - the server, which starts the message: `the gateway`
 * @param cause - the error of Node or gRPC
 */
export function listenError(what: string, { host, port }: ListenAddress, cause: Error): AgentLightningError {
  const address = hostAndPort({ host, port });
  if (cause.message.includes('EADDRINUSE')) {
    return new AgentLightningError({
      code: 'PORT_IN_USE',
      message: `${what} cannot listen on ${address}: another program has the port`,
      remedy:
        'Stop that program, which may be an earlier one of this kind, or choose another port: 0 for any free one.',
      cause,
      details: { host, port },
    });
  }
  return new AgentLightningError({
    code: 'CONFIG',
    message: `${what} cannot listen on ${address}: ${cause.message}`,
    remedy: 'Give an address of this machine and a port that this user may open.',
    cause,
    details: { host, port },
  });
}

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
