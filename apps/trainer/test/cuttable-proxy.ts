import { connect, createServer, type Socket } from 'node:net';

/** A TCP proxy on loopback whose network can be cut. */
export interface CuttableProxy extends AsyncDisposable {
  readonly port: number;
  /** Delivers no byte in either direction, and leaves connections open, as a network that drops every packet does. */
  cut(): void;
  /** Ends the connections of the time before, and delivers those that follow. */
  restore(): void;
}

/** Starts a proxy in front of a port. */
export async function startCuttableProxy(targetPort: number): Promise<CuttableProxy> {
  const sockets = new Set<Socket>();
  let isCut = false;
  const server = createServer((client) => {
    sockets.add(client);
    client.on('error', () => undefined).on('close', () => sockets.delete(client));
    if (isCut) return void client.pause();
    const target = connect(targetPort, '127.0.0.1');
    sockets.add(target);
    target.on('error', () => client.destroy()).on('close', () => client.destroy());
    client.on('close', () => target.destroy());
    client.pipe(target).pipe(client);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const endAll = (): void => {
    for (const socket of sockets) socket.destroy();
    sockets.clear();
  };
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    cut: () => {
      isCut = true;
      for (const socket of sockets) socket.unpipe().pause();
    },
    restore: () => {
      isCut = false;
      endAll();
    },
    [Symbol.asyncDispose]: async () => {
      endAll();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
