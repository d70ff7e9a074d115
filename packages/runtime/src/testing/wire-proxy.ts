import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

interface Target {
  readonly host: string;
  readonly port: number;
}

/** A TCP connection between a client and a runtime that can be cut like a cable. */
export class WireProxy {
  readonly #server: Server;
  #target: Target;
  readonly #sockets = new Set<Socket>();
  #isFrozen = false;
  #bytesUntilCut = Number.POSITIVE_INFINITY;
  /** Number of cuts. */
  cuts = 0;

  private constructor(server: Server, target: Target) {
    this.#server = server;
    this.#target = target;
    server.on('connection', (socket) => this.#forward(socket));
  }

  /** Opens a proxy to an address, such as `127.0.0.1:50051`. */
  static async open(address: string): Promise<WireProxy> {
    const server = createServer();
    const proxy = new WireProxy(server, targetOf(address));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return proxy;
  }

  /** The address for clients. */
  get address(): string {
    const { port } = this.#server.address() as AddressInfo;
    return `127.0.0.1:${port}`;
  }

  /** Cuts all current connections; new ones can be made. */
  cut(): void {
    this.cuts += 1;
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Cuts, once, after this number of further bytes to the runtime. */
  cutAfter(bytes: number): void {
    this.#bytesUntilCut = bytes;
  }

  /** Forwards nothing any more without closing connections: as when a machine hangs or a cable is unplugged. */
  freeze(): void {
    this.#isFrozen = true;
  }

  /** Forwards new connections to another address. */
  redirect(address: string): void {
    this.#target = targetOf(address);
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #forward(client: Socket): void {
    const runtime = connect(this.#target);
    for (const [from, to] of [
      [client, runtime],
      [runtime, client],
    ] as const) {
      this.#sockets.add(from);
      // A cut connection is expected here.
      from.on('error', () => to.destroy());
      from.on('close', () => {
        this.#sockets.delete(from);
        to.destroy();
      });
    }
    runtime.on('data', (data) => {
      if (!this.#isFrozen) send(data, runtime, client);
    });
    client.on('data', (data) => {
      if (this.#isFrozen) return;
      this.#bytesUntilCut -= data.byteLength;
      if (this.#bytesUntilCut < 0) {
        this.#bytesUntilCut = Number.POSITIVE_INFINITY;
        this.cut();
      } else {
        send(data, client, runtime);
      }
    });
    client.on('end', () => runtime.end());
    runtime.on('end', () => client.end());
  }
}

function targetOf(address: string): Target {
  const colon = address.lastIndexOf(':');
  return { host: address.slice(0, colon), port: Number(address.slice(colon + 1)) };
}

function send(data: Buffer, from: Socket, to: Socket): void {
  if (to.write(data)) return;
  from.pause();
  to.once('drain', () => from.resume());
}
