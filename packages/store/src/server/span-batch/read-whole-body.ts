import type { Context } from 'hono';
import { incomingOf } from '../observation/request-notes.ts';
import { letGo } from './let-go.ts';

/** From how many bytes on a body is put together here. */
const largeBytes = 32_768;

/**
 * Reads the body of a request as bytes that are nobody else's. A large one is put together here, and its pieces are
 * let go of at once.
 */
export async function readWholeBody(context: Context): Promise<Uint8Array<ArrayBuffer>> {
  const incoming = incomingOf(context);
  const length = Number(context.req.header('content-length') ?? 0);
  if (incoming === undefined || incoming.readableDidRead || !Number.isSafeInteger(length) || length < largeBytes)
    return new Uint8Array(await context.req.arrayBuffer());
  const body = Buffer.allocUnsafeSlow(length);
  let at = 0;
  // Nobody has told it to read text.
  const pieces: AsyncIterable<Uint8Array> = incoming;
  for await (const piece of pieces) {
    body.set(piece, at);
    at += piece.byteLength;
    letGo(piece);
  }
  return body.subarray(0, at);
}
