import type { TlsOptions } from 'node:tls';
import { AgentLightningError } from '@agentlightning/core';
import { isLoopback } from '../loopback.ts';

/** TLS settings and client authentication of a server. All in PEM. */
export interface ServerTls {
  /** The server's certificate, followed by intermediate certificates. */
  readonly certificate: string;
  /** The private key in PEM. */
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

/** The options of Node's TLS server. */
export function secureOptions({ certificate, privateKey, clientAuthority }: ServerTls): TlsOptions {
  const pair = { cert: certificate, key: privateKey };
  return clientAuthority === undefined ? pair : { ...pair, ca: clientAuthority, requestCert: true };
}
