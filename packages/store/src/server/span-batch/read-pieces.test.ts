import { once } from 'node:events';
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { Hono } from 'hono';
import { expect, test } from 'vitest';
import { type BodyPieces, readPieces } from './read-pieces.ts';

const large = 40_000;

/** Reads the body of a request that says that its body is large. */
function readBodyOf(incoming: IncomingMessage): Promise<BodyPieces> {
  return new Promise((resolve, reject) => {
    const app = new Hono().post('/', async (context) => {
      await readPieces(context).then(resolve, reject);
      return context.body(null);
    });
    const request = { method: 'POST', headers: { 'content-length': String(large) } };
    void app.request('/', request, { incoming });
  });
}

test('gives a large body in the pieces that it came in', async () => {
  const incoming = new IncomingMessage(new Socket());
  const pieces = ['a', 'b'].map((letter) => Buffer.from(letter.repeat(large / 2)));
  const read = readBodyOf(incoming);
  for (const piece of [...pieces, null]) incoming.push(piece);
  expect(await read).toEqual(pieces);
});

test('fails when the client goes away, also when it has gone before anybody reads', async () => {
  const closed = { message: 'The connection was closed before the body was read' };
  const leaving = new IncomingMessage(new Socket());
  const read = readBodyOf(leaving);
  leaving.push(Buffer.from('a'));
  leaving.destroy();
  await expect(read).rejects.toMatchObject(closed);
  const gone = new IncomingMessage(new Socket());
  const hasGone = once(gone, 'close');
  gone.destroy();
  await hasGone;
  await expect(readBodyOf(gone)).rejects.toMatchObject(closed);
});
