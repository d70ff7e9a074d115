import { expect, test } from 'vitest';
import { PieceTraffic } from './piece-traffic.ts';
import { piecesAhead } from './pieces.ts';
import type { PieceMessage } from './store-message.ts';

/** Two sides that hear of each other a little later. */
function twoSides(): { readonly sender: PieceTraffic; readonly receiver: PieceTraffic } {
  const heard = (side: () => PieceTraffic) => (message: PieceMessage) => queueMicrotask(() => side().take(message));
  const sender: PieceTraffic = new PieceTraffic(heard(() => receiver));
  const receiver: PieceTraffic = new PieceTraffic(heard(() => sender));
  return { sender, receiver };
}

/** Counts up, and tells how far it has come and whether it was ended. */
function counting(last: number): {
  readonly pieces: AsyncIterable<number>;
  readonly state: { at: number; isOver: boolean };
} {
  const state = { at: 0, isOver: false };
  async function* count(): AsyncGenerator<number> {
    try {
      while (state.at < last) {
        state.at += 1;
        yield state.at;
      }
    } finally {
      state.isOver = true;
    }
  }
  return { pieces: count(), state };
}

test('pieces come in order, and are made no further ahead than their reader allows', async () => {
  const { sender, receiver } = twoSides();
  const { pieces, state } = counting(500);
  const incoming = receiver.receive<number>(1);
  const sent = sender.send(1, () => pieces);
  const read: number[] = [];
  for await (const piece of incoming.read()) {
    read.push(piece);
    await new Promise((resolve) => setImmediate(resolve));
    expect(state.at - read.length).toBeLessThanOrEqual(piecesAhead);
  }
  expect(read).toEqual(Array.from({ length: 500 }, (_, index) => index + 1));
  expect(await sent).toBeNull();
});

test('a reader who leaves ends what is sent', async () => {
  const { sender, receiver } = twoSides();
  const { pieces, state } = counting(Number.POSITIVE_INFINITY);
  const incoming = receiver.receive<number>(1);
  const sent = sender.send(1, () => pieces);
  for await (const piece of incoming.read()) if (piece === 40) break;
  expect(await sent).toBeNull();
  expect(state.isOver).toBe(true);
  expect(state.at).toBeLessThanOrEqual(40 + piecesAhead);
});

test('what goes wrong reaches the reader after what came before it, and who sends it', async () => {
  const { sender, receiver } = twoSides();
  const incoming = receiver.receive<number>(1);
  const broken = new RangeError('no more');
  const sent = sender.send(1, async function* () {
    yield 1;
    throw broken;
  });
  const read: number[] = [];
  const reading = (async () => {
    for await (const piece of incoming.read()) read.push(piece);
  })();
  await expect(reading).rejects.toMatchObject({ name: 'RangeError', message: 'no more' });
  expect(read).toEqual([1]);
  expect((await sent)?.error).toBe(broken);
});
