import { AgentLightningError } from '@agentlightning/core';
import { ChannelCredentials } from '@grpc/grpc-js';
import { isLoopback } from '../loopback.ts';

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
 * What grpc-js connects with.
 * @throws AgentLightningError CONFIG when something would go unencrypted over a network
 */
export function clientCredentials({
  address,
  tls,
  rootCertificates,
  clientCertificate,
}: ClientSecurity): ChannelCredentials {
  const isLocal = address.startsWith('unix:') || isLoopback(address.replace(/:\d+$/, ''));
  // Who gives certificates means to use them.
  const wantsTls = tls ?? (!isLocal || rootCertificates !== undefined || clientCertificate !== undefined);
  if (wantsTls) {
    return ChannelCredentials.createSsl(
      bufferOf(rootCertificates),
      bufferOf(clientCertificate?.privateKey),
      bufferOf(clientCertificate?.certificate),
    );
  }
  if (isLocal) return ChannelCredentials.createInsecure();
  throw new AgentLightningError({
    code: 'CONFIG',
    message: `Refusing to connect to ${address} without TLS: everybody on the way could read and change what is trained`,
    remedy: 'Leave `tls` out or set it to true; or reach the runtime through a tunnel that ends on this machine.',
  });
}

function bufferOf(pem: string | undefined): Buffer | null {
  return pem === undefined ? null : Buffer.from(pem);
}
