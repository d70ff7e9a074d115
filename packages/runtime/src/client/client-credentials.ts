import { AgentLightningError } from '@agentlightning/core';
import { isLoopback } from '../loopback.ts';
import type { ChannelTls } from './open-channel.ts';

/** A certificate and its key, in PEM. */
export interface ClientCertificate {
  readonly certificate: string;
  readonly privateKey: string;
}

/** Where a client connects to, and how it proves who is who. */
export interface ClientSecurity {
  readonly address: string;
  readonly tls?: boolean;
  readonly rootCertificates?: string;
  readonly clientCertificate?: ClientCertificate;
}

/**
 * How a connection is encrypted; null for not at all.
 * @throws AgentLightningError CONFIG when something would go unencrypted over a network
 */
export function channelTls({ address, tls, rootCertificates, clientCertificate }: ClientSecurity): ChannelTls | null {
  const isLocal = address.startsWith('unix:') || isLoopback(address.replace(/:\d+$/, ''));
  // Who gives certificates means to use them.
  const wantsTls = tls ?? (!isLocal || rootCertificates !== undefined || clientCertificate !== undefined);
  if (wantsTls) return { rootCertificates, ...clientCertificate };
  if (isLocal) return null;
  throw new AgentLightningError({
    code: 'CONFIG',
    message: `Refusing to connect to ${address} without TLS: everybody on the way could read and change what is trained`,
    remedy: 'Leave `tls` out or set it to true; or reach the runtime through a tunnel that ends on this machine.',
  });
}
