import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/**
 * The connections of a server, and which of them have a request under way. Node closes idle connections
 * by itself only after their first request, and clients open some in advance.
 */
export class OpenConnections {
  readonly #server: Server;
  readonly #open = new Set<Socket>();
  readonly #busy = new Set<Socket>();

  constructor(server: Server) {
    this.#server = server;
    server.on('connection', (socket: Socket) => {
      this.#open.add(socket);
      socket.once('close', () => this.#open.delete(socket));
    });
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      const { socket } = request;
      this.#busy.add(socket);
      response.once('close', () => this.#busy.delete(socket));
    });
  }

  /** Takes no more connections and resolves when all are closed: each after its request, or when the time is up. */
  close(timeoutMs: number): Promise<void> {
    return new Promise((resolve) => {
      const idle = setInterval(() => this.#closeIdle(), 10);
      const late = setTimeout(() => this.#server.closeAllConnections(), timeoutMs);
      this.#server.close(() => {
        clearInterval(idle);
        clearTimeout(late);
        resolve();
      });
      this.#closeIdle();
    });
  }

  #closeIdle(): void {
    for (const socket of this.#open) {
      if (!this.#busy.has(socket)) socket.destroySoon();
    }
  }
}
