import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';

/** How long closing takes. */
export interface DrainOptions {
  /** How long requests under way have, in milliseconds. */
  readonly timeoutMs: number;
  /** How long a connection without a request stays open, in milliseconds: one may be on its way. */
  readonly idleGraceMs: number;
}

/** What is known of an open connection. */
interface Connection {
  /** The requests on it that are not answered yet. */
  readonly answering: Set<ServerResponse>;
  /** Since when it has had no request, by the clock of `performance`. */
  idleSinceMs: number;
}

const lookEveryMs = 10;

/**
 * The connections of a server, and which of them have a request under way. Node's own way of closing cuts connections
 * that have no request at that moment, and with them requests that are on their way; this one lets them come in.
 */
export class OpenConnections {
  readonly #server: Server;
  readonly #open = new Map<Socket, Connection>();
  #isDraining = false;

  constructor(server: Server) {
    this.#server = server;
    server.on('connection', (socket: Socket) => {
      this.#open.set(socket, { answering: new Set(), idleSinceMs: performance.now() });
      socket.once('close', () => this.#open.delete(socket));
    });
    // Before the application answers: it may do so at once.
    server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
      const connection = this.#open.get(request.socket);
      if (connection === undefined) return;
      connection.answering.add(response);
      if (this.#isDraining) sayGoodbye(response);
      response.once('close', () => {
        connection.answering.delete(response);
        connection.idleSinceMs = performance.now();
      });
    });
  }

  /** Takes no more connections and resolves when all are closed: each after its requests, or when the time is up. */
  close({ timeoutMs, idleGraceMs }: DrainOptions): Promise<void> {
    this.#isDraining = true;
    for (const { answering } of this.#open.values()) for (const response of answering) sayGoodbye(response);
    return new Promise((resolve) => {
      const look = setInterval(() => this.#closeIdle(idleGraceMs), lookEveryMs);
      const late = setTimeout(() => this.#server.closeAllConnections(), timeoutMs);
      const closed = (): void => {
        clearInterval(look);
        clearTimeout(late);
        // By now there is nothing to cut, and it has a timer to stop.
        this.#server.close();
        resolve();
      };
      // What servers of HTTP do beyond this is to cut idle connections.
      NetServer.prototype.close.call(this.#server, closed);
      this.#closeIdle(idleGraceMs);
    });
  }

  #closeIdle(idleGraceMs: number): void {
    const idleBefore = performance.now() - idleGraceMs;
    for (const [socket, { answering, idleSinceMs }] of this.#open) {
      if (answering.size === 0 && idleSinceMs <= idleBefore) socket.destroySoon();
    }
  }
}

/** Tells a client that the connection ends with this answer, so that it opens another one for its next request. */
function sayGoodbye(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader('connection', 'close');
}
