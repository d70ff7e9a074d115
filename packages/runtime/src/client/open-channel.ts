import { ChannelCredentials, Client, type ClientOptions } from '@grpc/grpc-js';

/** TLS material in PEM. Undefined: the system's authorities, no client certificate. */
export interface ChannelTls {
  readonly rootCertificates?: string | undefined;
  readonly privateKey?: string | undefined;
  readonly certificate?: string | undefined;
}

/** Connection settings as plain values: another thread can open a channel with them. */
export interface ChannelSettings {
  readonly address: string;
  /** Sent with every call. */
  readonly apiKey: string | undefined;
  /** Null: plain text. */
  readonly tls: ChannelTls | null;
  readonly options: ClientOptions;
}

/** Opens a channel to a runtime. It connects on the first call. */
export function openChannel({ address, tls, options }: ChannelSettings): Client {
  return new Client(address, tls === null ? ChannelCredentials.createInsecure() : encrypted(tls), options);
}

function encrypted({ rootCertificates, privateKey, certificate }: ChannelTls): ChannelCredentials {
  return ChannelCredentials.createSsl(bufferOf(rootCertificates), bufferOf(privateKey), bufferOf(certificate));
}

function bufferOf(pem: string | undefined): Buffer | null {
  return pem === undefined ? null : Buffer.from(pem);
}
