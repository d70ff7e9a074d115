import { letGo } from './let-go.ts';
import { type BodyPieces, lengthOf } from './read-pieces.ts';

/** Up to how many bytes the room is kept that a body was put together in. */
const largestRoom = 2 ** 22;
const decoder = new TextDecoder();
let room = new Uint8Array(0);

/** The text of a body. Room that is used again is memory that is there already, where other has to be found first. */
export function textOf(pieces: BodyPieces): string {
  const [first] = pieces;
  if (first !== undefined && pieces.length === 1) return decoder.decode(first);
  const length = lengthOf(pieces);
  const whole = length > largestRoom ? new Uint8Array(length) : roomFor(length);
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.byteLength;
  }
  const text = decoder.decode(whole);
  if (length > largestRoom) letGo(whole);
  return text;
}

function roomFor(length: number): Uint8Array {
  if (room.byteLength < length) room = new Uint8Array(Math.min(largestRoom, 2 * length));
  return room.subarray(0, length);
}
