import { AgentLightningError } from '@agentlightning/core';
import { isLoopback } from '../loopback.ts';
import type { ChannelTls } from './open-transport.ts';

/** A certificate and its key, in PEM. */
export interface ClientCertificate {
  /** The certificate in PEM. */
  readonly certificate: string;
  /** The private key in PEM. */
  readonly privateKey: string;
}

/** Address of a client and its credentials. */
export interface ClientSecurity {
  readonly address: string;
  readonly tls?: boolean;
  readonly rootCertificates?: string;
  readonly clientCertificate?: ClientCertificate;
  readonly serverName?: string;
}

/**
 * The TLS settings of a connection; null for plain text.
 * @throws AgentLightningError CONFIG when plain text would be sent over a network
 */
export function channelTls(security: ClientSecurity): ChannelTls | null {
  const { address, tls, rootCertificates, clientCertificate, serverName } = security;
  const isLocal = isLoopback(address.replace(/:\d+$/, ''));
  // Certificates imply TLS.
  const wantsTls = tls ?? (!isLocal || rootCertificates !== undefined || clientCertificate !== undefined);
  if (wantsTls) return { rootCertificates, ...clientCertificate, serverName };
  if (isLocal) return null;
  throw new AgentLightningError({
    code: 'CONFIG',
    message: `Refusing to connect to ${address} without TLS: the network could read and change training data`,
    remedy: 'Omit `tls` or set it to true; or reach the runtime through a tunnel that ends on this machine.',
  });
}
