import { AgentLightningError, type JsonObject } from '@agentlightning/core';
import { errorMessage, parse } from '@agentlightning/core/internal';
import { z } from 'zod';

const messageSchema = z.looseObject({ type: z.string(), data: z.record(z.string(), z.json()) });

/** A message of the server. */
export interface ServerMessage {
  readonly type: string;
  readonly data: JsonObject;
}

interface PendingRequest {
  readonly resolve: (message: ServerMessage) => void;
  readonly reject: (error: unknown) => void;
}

/** A WebSocket session of an OpenEnv server, which owns one environment there. It has one request at a time. */
export class OpenEnvSocket {
  readonly #socket: WebSocket;
  #pending: PendingRequest | null = null;
  /** A message that came before its request: the server refuses the session. */
  #early: ServerMessage | null = null;
  #end: Error | null = null;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener('message', ({ data }) => this.#receive(data));
    socket.addEventListener('error', (event) => this.#fail(connectionError(event)));
    socket.addEventListener('close', ({ code, reason }) =>
      this.#fail(failure(`the connection was closed with code ${code}${reason === '' ? '' : `: ${reason}`}`)),
    );
  }

  /** Connects to the path `/ws` of a server. */
  static async connect(
    url: string,
    { headers, signal }: { readonly headers: Readonly<Record<string, string>>; readonly signal: AbortSignal },
  ): Promise<OpenEnvSocket> {
    signal.throwIfAborted();
    const session = new OpenEnvSocket(new WebSocket(url, { headers: { ...headers } }));
    const stop = (): void => session.#socket.close();
    signal.addEventListener('abort', stop, { once: true });
    try {
      await new Promise<void>((resolve, reject) => {
        session.#socket.addEventListener('open', () => resolve(), { once: true });
        session.#pending = { resolve: () => undefined, reject };
      });
      session.#pending = null;
      return session;
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }

  /** Sends a request and waits for its response. An aborted request ends the session: its response would be taken for the next one. */
  async request(message: JsonObject, signal: AbortSignal): Promise<ServerMessage> {
    signal.throwIfAborted();
    if (this.#early !== null) return this.#early;
    if (this.#end !== null) throw this.#end;
    const stop = (): void => this.#socket.close();
    signal.addEventListener('abort', stop, { once: true });
    try {
      return await new Promise<ServerMessage>((resolve, reject) => {
        this.#pending = { resolve, reject };
        this.#socket.send(JSON.stringify(message));
      });
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    } finally {
      this.#pending = null;
      signal.removeEventListener('abort', stop);
    }
  }

  /** Ends the session, and resolves when the connection is closed. */
  async close(): Promise<void> {
    if (this.#end !== null) return;
    const closed = new Promise<void>((resolve) =>
      this.#socket.addEventListener('close', () => resolve(), { once: true }),
    );
    this.#end = failure('the session is closed');
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify({ type: 'close' }));
    this.#socket.close();
    await closed;
  }

  #receive(text: unknown): void {
    try {
      const message = parse(messageSchema, JSON.parse(String(text)), 'message of the OpenEnv server');
      if (this.#pending === null) this.#early = message;
      else this.#pending.resolve(message);
    } catch (error) {
      this.#fail(error instanceof Error ? error : failure(errorMessage(error)));
      this.#socket.close();
    }
  }

  #fail(error: Error): void {
    this.#end ??= error;
    this.#pending?.reject(this.#end);
  }
}

function connectionError(event: Event): Error {
  const { message = '' } = event as Event & { readonly message?: string };
  return failure(message === '' ? 'the connection was lost' : message);
}

function failure(message: string): AgentLightningError {
  return new AgentLightningError({ code: 'UNREACHABLE', message: `OpenEnv server: ${message}` });
}
