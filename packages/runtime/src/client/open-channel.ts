import { ChannelCredentials, Client, type ClientOptions } from '@grpc/grpc-js';

/** What a connection is encrypted with, in PEM. Undefined: the system's authorities, no certificate of its own. */
export interface ChannelTls {
  readonly rootCertificates?: string | undefined;
  readonly privateKey?: string | undefined;
  readonly certificate?: string | undefined;
}

/** All it takes to reach a runtime, in plain values: another thread can open a channel of its own with it. */
export interface ChannelSettings {
  readonly address: string;
  /** Goes with every call. */
  readonly apiKey: string | undefined;
  /** Null: unencrypted. */
  readonly tls: ChannelTls | null;
  readonly options: ClientOptions;
}

/** A channel to a runtime. It connects with the first call. */
export function openChannel({ address, tls, options }: ChannelSettings): Client {
  return new Client(address, tls === null ? ChannelCredentials.createInsecure() : encrypted(tls), options);
}

function encrypted({ rootCertificates, privateKey, certificate }: ChannelTls): ChannelCredentials {
  return ChannelCredentials.createSsl(bufferOf(rootCertificates), bufferOf(privateKey), bufferOf(certificate));
}

function bufferOf(pem: string | undefined): Buffer | null {
  return pem === undefined ? null : Buffer.from(pem);
}
