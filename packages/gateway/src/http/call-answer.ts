import type { ServerResponse } from 'node:http';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { pulledStream, type StreamSource } from './pulled-stream.ts';

/** The answer to a model call. */
export interface CallAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The whole body, or where it comes from. */
  readonly body: string | StreamSource;
}

/** The connection of a request to a server that the gateway has to itself. Servers that it is mounted in have none. */
export class OwnConnection {
  readonly #outgoing: ServerResponse;

  constructor(outgoing: ServerResponse) {
    this.#outgoing = outgoing;
  }

  /** The connection among the bindings of a request; null where there is none. */
  static of(bindings: unknown): ServerResponse | null {
    return bindings instanceof OwnConnection ? bindings.#outgoing : null;
  }
}

/**
 * Answers at once where the server's own connection is at hand: web streams, and waiting whether one has bytes yet,
 * would cost a stream's first token a millisecond and more, and a whole answer a third of its time.
 *
 * @param outgoing - the connection; null where the gateway does not have the server to itself
 */
export function respond(answer: CallAnswer, outgoing: ServerResponse | null): Response {
  if (outgoing === null) return toResponse(answer);
  sendAnswer(answer, outgoing);
  return RESPONSE_ALREADY_SENT;
}

/** An answer as applications give it. One of a status that has no body may have none, not even an empty one. */
export function toResponse({ status, headers, body }: CallAnswer): Response {
  const isBodiless = status === 204 || status === 205;
  if (typeof body === 'string') return new Response(isBodiless ? null : body, { status, headers });
  // A stream is to be read to its end, which ends its call.
  return new Response(pulledStream(body), { status: isBodiless ? 200 : status, headers });
}

/** Answers on a connection of the gateway's own. */
export function sendAnswer({ status, headers, body }: CallAnswer, outgoing: ServerResponse): void {
  if (typeof body === 'string') {
    outgoing.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) }).end(body);
  } else {
    outgoing.writeHead(status, headers);
    void pour(body, outgoing);
  }
}

/** Reads the source only as fast as the reader reads. One who goes is told to the source by the call's signal. */
async function pour(source: StreamSource, outgoing: ServerResponse): Promise<void> {
  // The head leaves with the first part, unless that takes its time.
  const early = setImmediate(() => outgoing.flushHeaders());
  try {
    for (let part = await source.next(); part !== null && !outgoing.destroyed; part = await source.next()) {
      clearImmediate(early);
      if (!outgoing.write(part)) await roomIn(outgoing);
    }
    outgoing.end();
  } catch (error) {
    outgoing.destroy(error instanceof Error ? error : new TypeError(String(error)));
  }
}

/** Resolves when more can be written, or nothing more will be. */
function roomIn(outgoing: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      outgoing.off('drain', done).off('close', done);
      resolve();
    };
    outgoing.once('drain', done).once('close', done);
  });
}
