import { constants, type Http2Session } from 'node:http2';
import type { Interceptor, Transport } from '@connectrpc/connect';
import { createGrpcTransport, Http2SessionManager } from '@connectrpc/connect-node';
import { http2SessionOptions, maxMessageBytes } from '../runtime-limits.ts';

/** TLS material in PEM. Undefined: the system's authorities, no client certificate. */
export interface ChannelTls {
  readonly rootCertificates?: string | undefined;
  readonly privateKey?: string | undefined;
  readonly certificate?: string | undefined;
  /** Name in the server's certificate when it differs from that of the address. */
  readonly serverName?: string | undefined;
}

/** Settings of a connection. */
export interface TransportSettings {
  /** `host:port`. */
  readonly address: string;
  /** Sent with every call. */
  readonly apiKey: string | undefined;
  /** Null: plain text. */
  readonly tls: ChannelTls | null;
  /** Keep-alive interval of a connection with open calls, and its timeout, in milliseconds. */
  readonly keepaliveMs: number;
  /** Timeout of calls that set none, in milliseconds. @default none */
  readonly callTimeoutMs?: number;
}

/** A connection to a runtime. */
export interface RuntimeTransport {
  readonly transport: Transport;
  /** Ends the connection and all calls. */
  close(): void;
}

/**
 * Flow-control window of the runtime's responses, in bytes. With the default of 64 KiB, a round trip of 20 ms limits
 * throughput to 3 MB/s; exported files and log-probabilities are larger than that.
 */
const receiveWindowBytes = 4 * 1024 * 1024;

/** Opens a connection to a runtime. It connects on the first call, and again after a loss. */
export function openTransport(settings: TransportSettings): RuntimeTransport {
  const { address, apiKey, tls, keepaliveMs, callTimeoutMs } = settings;
  const baseUrl = `${tls === null ? 'http' : 'https'}://${address}`;
  const sessionManager = new SessionManager(
    baseUrl,
    { pingIntervalMs: keepaliveMs, pingTimeoutMs: keepaliveMs },
    {
      ...http2SessionOptions,
      settings: { initialWindowSize: receiveWindowBytes },
      ...(tls === null ? {} : tlsOptions(tls)),
    },
  );
  const transport = createGrpcTransport({
    baseUrl,
    sessionManager,
    interceptors: apiKey === undefined ? [] : [sendKey(apiKey)],
    acceptCompression: [],
    readMaxBytes: maxMessageBytes,
    writeMaxBytes: maxMessageBytes,
    ...(callTimeoutMs === undefined ? {} : { defaultTimeoutMs: callTimeoutMs }),
  });
  return { transport, close: () => sessionManager.close() };
}

/** Connect's sessions, with what it leaves to Node. */
class SessionManager extends Http2SessionManager {
  #session: Http2Session | undefined;

  override async request(
    ...call: Parameters<Http2SessionManager['request']>
  ): ReturnType<Http2SessionManager['request']> {
    const stream = await super.request(...call);
    this.#session = stream.session;
    // The window of the connection; the setting `initialWindowSize` applies to its streams only.
    stream.session?.setLocalWindowSize(receiveWindowBytes);
    // An upload with an early response would stay open, with its part of the window. Connect reads the response first.
    const closeUpload = (): void => {
      if (!stream.writableEnded) stream.close(constants.NGHTTP2_CANCEL);
    };
    stream.once('end', () => setImmediate(closeUpload));
    return stream;
  }

  /** Closes gracefully: Connect destroys a session with an error code, which servers log. */
  close(): void {
    if (this.#session === undefined || this.#session.closed) this.abort();
    else this.#session.close(() => this.abort());
  }
}

function tlsOptions({ rootCertificates, privateKey, certificate, serverName }: ChannelTls): object {
  return { ca: rootCertificates, key: privateKey, cert: certificate, servername: serverName };
}

function sendKey(apiKey: string): Interceptor {
  return (next) => (request) => {
    request.header.set('authorization', `Bearer ${apiKey}`);
    return next(request);
  };
}
