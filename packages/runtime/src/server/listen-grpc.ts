import {
  createSecureServer,
  createServer,
  type Http2Server,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type SecureServerOptions,
  type ServerHttp2Session,
} from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import { listenError } from '@agentlightning/core/protocol';
import type { ConnectRouter } from '@connectrpc/connect';
import { connectNodeAdapter } from '@connectrpc/connect-node';
import { http2SessionOptions, maxMessageBytes } from '../runtime-limits.ts';
import { type ServerTls, secureOptions } from './server-credentials.ts';

/** Address and services of a gRPC server. */
export interface GrpcListenOptions {
  readonly hostName: string;
  /** 0 selects a free port. */
  readonly port: number;
  readonly tls: ServerTls | undefined;
  /** Registers the services. */
  readonly routes: (router: ConnectRouter) => void;
}

/** A listening gRPC server. */
export interface GrpcServer {
  readonly port: number;
  /** Rejects new calls; ends the connections when their calls have ended, at the latest after the grace period. */
  close(): Promise<void>;
}

/** Grace period of open connections when the server stops, in milliseconds. */
const shutdownGraceMs = 1_000;

/** Idle time after which TCP probes whether a client still exists, in milliseconds. */
const keepaliveMs = 20_000;

/**
 * Serves gRPC over HTTP/2.
 * @throws AgentLightningError PORT_IN_USE, or CONFIG for an unusable address, certificate or key
 */
export async function listenGrpc({ hostName, port, tls, routes }: GrpcListenOptions): Promise<GrpcServer> {
  const at = { host: hostName, port };
  try {
    const server = createHttp2Server(tls);
    server.on('request', requestListener(routes));
    const sessions = membersOf<ServerHttp2Session>(server, 'session');
    const sockets = membersOf<Socket>(server, 'connection');
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, hostName, resolve);
    });
    const { port: boundPort } = server.address() as AddressInfo;
    return { port: boundPort, close: () => closeServer(server, sessions, sockets) };
  } catch (error) {
    throw listenError('the training runtime', at, error instanceof Error ? error : new Error(String(error)));
  }
}

function createHttp2Server(tls: ServerTls | undefined): Http2Server {
  const options: SecureServerOptions = {
    ...http2SessionOptions,
    keepAlive: true,
    keepAliveInitialDelay: keepaliveMs,
  };
  return tls === undefined ? createServer(options) : createSecureServer({ ...options, ...secureOptions(tls) });
}

function requestListener(
  routes: GrpcListenOptions['routes'],
): (request: Http2ServerRequest, response: Http2ServerResponse) => void {
  const handle = connectNodeAdapter({
    routes,
    grpc: true,
    grpcWeb: false,
    connect: false,
    acceptCompression: [],
    readMaxBytes: maxMessageBytes,
    writeMaxBytes: maxMessageBytes,
  });
  return (request, response) => {
    // An authority that is not a host name cannot be handled.
    if (URL.canParse(`http://${request.authority}`)) handle(request, response);
    else response.writeHead(400).end();
  };
}

/** The open sessions or connections of a server. */
function membersOf<TMember extends ServerHttp2Session | Socket>(
  server: Http2Server,
  event: 'session' | 'connection',
): Set<TMember> {
  const members = new Set<TMember>();
  server.on(event, (member: TMember) => {
    members.add(member);
    member.once('close', () => members.delete(member));
  });
  return members;
}

async function closeServer(
  server: Http2Server,
  sessions: ReadonlySet<ServerHttp2Session>,
  sockets: ReadonlySet<Socket>,
): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  for (const session of sessions) session.close();
  // A destroyed session still waits for the client to close its side.
  const timer = setTimeout(() => {
    for (const socket of sockets) socket.destroy();
  }, shutdownGraceMs);
  await closed;
  clearTimeout(timer);
}
