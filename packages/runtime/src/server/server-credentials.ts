import { AgentLightningError } from '@agentlightning/core';
import { ServerCredentials } from '@grpc/grpc-js';
import { isLoopback } from '../loopback.ts';

/** TLS settings and client authentication of a server. All in PEM. */
export interface ServerTls {
  /** The server's certificate, followed by intermediate certificates. */
  readonly certificate: string;
  readonly privateKey: string;
  /**
   * Certificates of the authority that signs client certificates. When set, clients without such a certificate cannot
   * connect (mutual TLS). @default none: clients need no certificate
   */
  readonly clientAuthority?: string;
}

/** The address of the server and its credentials. */
export interface Guard {
  readonly hostName: string;
  readonly apiKey: string | undefined;
  readonly tls: ServerTls | undefined;
}

/**
 * Allows plain text and unauthenticated calls on loopback only. An empty key, such as that of an unset variable, is
 * rejected.
 *
 * @throws AgentLightningError CONFIG
 */
export function assertGuarded({ hostName, apiKey, tls }: Guard): void {
  if (apiKey === '') {
    throw new AgentLightningError({
      code: 'CONFIG',
      message: 'The key of the runtime is empty and would not authenticate clients',
      remedy: 'Set a key (for `agl runtime`: the variable AGL_RUNTIME_KEY) or omit it.',
    });
  }
  if (isLoopback(hostName)) return;
  if (tls === undefined) {
    throw new AgentLightningError({
      code: 'CONFIG',
      message: `Refusing to listen on ${hostName} without TLS: the network could read and change training data`,
      remedy: 'Set `tls`, or listen on 127.0.0.1 behind an SSH tunnel or a TLS proxy.',
    });
  }
  if (apiKey !== undefined || tls.clientAuthority !== undefined) return;
  throw new AgentLightningError({
    code: 'CONFIG',
    message: `Refusing to listen on ${hostName} without a key or client certificates: remote clients could train and read models`,
    remedy: 'Set `apiKey`, or `tls.clientAuthority` for mutual TLS, or listen on 127.0.0.1.',
  });
}

/** The credentials of grpc-js. @throws AgentLightningError CONFIG when certificate and key do not match */
export function serverCredentials(tls: ServerTls | undefined): ServerCredentials {
  if (tls === undefined) return ServerCredentials.createInsecure();
  const { certificate, privateKey, clientAuthority } = tls;
  const pair = { cert_chain: Buffer.from(certificate), private_key: Buffer.from(privateKey) };
  const roots = clientAuthority === undefined ? null : Buffer.from(clientAuthority);
  return ServerCredentials.createSsl(roots, [pair], clientAuthority !== undefined);
}
