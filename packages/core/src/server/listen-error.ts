import { AgentLightningError } from '../errors/agent-lightning-error.ts';
import { hostAndPort, type ListenAddress } from './listen-address.ts';

/**
 * Says why a server cannot listen: another program has the port, or the address is none that may be had.
 *
 * @param what - the server, as the start of the message: `the gateway`
 * @param cause - what Node, or gRPC, says
 */
export function listenError(what: string, { host, port }: ListenAddress, cause: Error): AgentLightningError {
  const address = hostAndPort({ host, port });
  // An error of gRPC has the code in its words alone.
  if (cause.message.includes('EADDRINUSE')) {
    return new AgentLightningError({
      code: 'PORT_IN_USE',
      message: `${what} cannot listen on ${address}: another program has the port`,
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
