import { AgentLightningError } from '@agentlightning/core';
import { ServerCredentials } from '@grpc/grpc-js';
import { isLoopback } from '../loopback.ts';

/** How a server encrypts, and whom it lets in. All in PEM. */
export interface ServerTls {
  /** The server's certificate, with those between it and the root behind it. */
  readonly certificate: string;
  readonly privateKey: string;
  /**
   * Certificates of the authority that signs those of clients. When it is given, a client without a certificate of it
   * does not get a connection (mutual TLS). @default none: clients need no certificate
   */
  readonly clientAuthority?: string;
}

/** Who could reach the server, and what they would need. */
export interface Guard {
  readonly hostName: string;
  readonly apiKey: string | undefined;
  readonly tls: ServerTls | undefined;
}

/**
 * Lets a server listen in plain text, or to everybody, only where nobody else is. A key that is empty, as of a variable
 * that is not set, is none that anybody meant.
 *
 * @throws AgentLightningError CONFIG
 */
export function assertGuarded({ hostName, apiKey, tls }: Guard): void {
  if (apiKey === '') {
    throw new AgentLightningError({
      code: 'CONFIG',
      message: 'The key of the runtime is empty, and would keep nobody out',
      remedy: 'Give it a key (for `agl runtime`: the variable AGL_RUNTIME_KEY), or none at all.',
    });
  }
  if (isLoopback(hostName)) return;
  if (tls === undefined) {
    throw new AgentLightningError({
      code: 'CONFIG',
      message: `Refusing to listen on ${hostName} without TLS: everybody on the way could read and change what is trained`,
      remedy: 'Set `tls`, or listen on 127.0.0.1 and let an SSH tunnel or a TLS proxy reach it.',
    });
  }
  if (apiKey !== undefined || tls.clientAuthority !== undefined) return;
  throw new AgentLightningError({
    code: 'CONFIG',
    message: `Refusing to listen on ${hostName} without a key or client certificates: others could train and read models`,
    remedy: 'Set `apiKey`, or `tls.clientAuthority` for mutual TLS, or listen on 127.0.0.1.',
  });
}

/** What grpc-js listens with. @throws AgentLightningError CONFIG when certificate and key do not fit together */
export function serverCredentials(tls: ServerTls | undefined): ServerCredentials {
  if (tls === undefined) return ServerCredentials.createInsecure();
  const { certificate, privateKey, clientAuthority } = tls;
  const pair = { cert_chain: Buffer.from(certificate), private_key: Buffer.from(privateKey) };
  const roots = clientAuthority === undefined ? null : Buffer.from(clientAuthority);
  return ServerCredentials.createSsl(roots, [pair], clientAuthority !== undefined);
}
