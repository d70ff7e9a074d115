import { connect, createServer, type Socket } from 'node:net';

/** A TCP proxy on loopback that delays every chunk, as a network with this round trip does. */
export interface DelayingProxy extends AsyncDisposable {
  readonly port: number;
}

/** Starts a proxy; half of the round trip is added in each direction, without a limit of bandwidth. */
export async function startDelayingProxy(targetPort: number, roundTripMs: number): Promise<DelayingProxy> {
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const target = connect(targetPort, '127.0.0.1');
    for (const [from, to] of [
      [client, target],
      [target, client],
    ] as const) {
      sockets.add(from);
      from.setNoDelay(true);
      from.on('data', (chunk) => setTimeout(() => to.write(chunk), roundTripMs / 2));
      from.on('end', () => setTimeout(() => to.end(), roundTripMs / 2));
      from.on('error', () => to.destroy());
      from.on('close', () => sockets.delete(from));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
