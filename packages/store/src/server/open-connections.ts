import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';

/** Timeouts of `close`. */
export interface DrainOptions {
  /** Timeout of active requests in milliseconds. */
  readonly timeoutMs: number;
  /** Grace period of idle connections in milliseconds, for requests in transit. */
  readonly idleGraceMs: number;
}

/** The state of an open connection. */
interface Connection {
  /** Responses that are not complete yet. */
  readonly pending: Set<ServerResponse>;
  /** Start of the idle time, by `performance.now()`. */
  idleSinceMs: number;
}

const pollIntervalMs = 10;

/**
 * Tracks the connections of a server and their active requests. Node's `close` destroys idle connections, and with them
 * requests in transit; this one keeps idle connections open for a grace period.
 */
export class OpenConnections {
  readonly #server: Server;
  readonly #open = new Map<Socket, Connection>();
  #isDraining = false;

  constructor(server: Server) {
    this.#server = server;
    server.on('connection', (socket: Socket) => {
      this.#open.set(socket, { pending: new Set(), idleSinceMs: performance.now() });
      socket.once('close', () => this.#open.delete(socket));
    });
    // Prepended: the application may respond synchronously.
    server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
      const connection = this.#open.get(request.socket);
      if (connection === undefined) return;
      connection.pending.add(response);
      if (this.#isDraining) announceClose(response);
      response.once('close', () => {
        connection.pending.delete(response);
        connection.idleSinceMs = performance.now();
      });
    });
  }

  /**
   * Rejects new connections and closes each open one after its requests or at the timeout; resolves when all are
   * closed.
   */
  close({ timeoutMs, idleGraceMs }: DrainOptions): Promise<void> {
    this.#isDraining = true;
    for (const { pending } of this.#open.values()) for (const response of pending) announceClose(response);
    return new Promise((resolve) => {
      const look = setInterval(() => this.#closeIdle(idleGraceMs), pollIntervalMs);
      const late = setTimeout(() => this.#server.closeAllConnections(), timeoutMs);
      const closed = (): void => {
        clearInterval(look);
        clearTimeout(late);
        // No connections are left; this stops the server's timer.
        this.#server.close();
        resolve();
      };
      // The HTTP server's own `close` would also destroy idle connections.
      NetServer.prototype.close.call(this.#server, closed);
      this.#closeIdle(idleGraceMs);
    });
  }

  #closeIdle(idleGraceMs: number): void {
    const idleBefore = performance.now() - idleGraceMs;
    for (const [socket, { pending, idleSinceMs }] of this.#open) {
      if (pending.size === 0 && idleSinceMs <= idleBefore) socket.destroySoon();
    }
  }
}

/** Sets `connection: close`: the client opens another connection for its next request. */
function announceClose(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader('connection', 'close');
}
