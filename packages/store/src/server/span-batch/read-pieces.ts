import type { IncomingMessage } from 'node:http';
import type { Context } from 'hono';
import { incomingOf } from '../observation/request-notes.ts';

/** The bytes of a request's body, in the pieces that they came in, in order. */
export type BodyPieces = readonly Uint8Array<ArrayBuffer>[];

/** From how many bytes on a body is left in pieces. */
const largeBytes = 32_768;

/**
 * Reads the body of a request as bytes that are nobody else's. A large one stays in its pieces: whoever needs it whole
 * puts it together, and that need not be the thread that serves everybody.
 */
export async function readPieces(context: Context): Promise<BodyPieces> {
  const incoming = incomingOf(context);
  const length = Number(context.req.header('content-length') ?? 0);
  if (incoming === undefined || incoming.readableDidRead || !Number.isSafeInteger(length) || length < largeBytes)
    return [new Uint8Array(await context.req.arrayBuffer())];
  return piecesOf(incoming);
}

/** As they come: a loop over the stream would cost as much as all of the request's headers. */
function piecesOf(incoming: IncomingMessage): Promise<BodyPieces> {
  return new Promise((resolve, reject) => {
    const pieces: Uint8Array<ArrayBuffer>[] = [];
    // Also when the client goes away, which is an error only to those who listened before.
    const gone = (): void => reject(new Error('The connection was closed before the body was read'));
    if (incoming.destroyed) gone();
    // Nobody has told it to read text.
    incoming.on('data', (piece: Uint8Array<ArrayBuffer>) => pieces.push(piece));
    incoming.once('end', () => resolve(pieces));
    incoming.once('error', reject);
    incoming.once('close', gone);
  });
}

/** How many bytes there are. */
export function lengthOf(pieces: BodyPieces): number {
  return pieces.reduce((sum, { byteLength }) => sum + byteLength, 0);
}
