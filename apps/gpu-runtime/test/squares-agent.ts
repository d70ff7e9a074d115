import { crc32, deflateSync } from 'node:zlib';
import { traceFetch } from '@agentlightning/fetch';
import OpenAI from 'openai';

/** A task of {@link countSquares}: the cells with a square, in a grid of three by three. */
export interface SquaresTask {
  readonly cells: readonly number[];
}

/** Width and height of a cell, in pixels: one token of the small vision-language model. */
const cellPixels = 8;
const columns = 3;

/** All placements of one, two and three squares; those of each number have the same weight, by repetition. */
export const placements: readonly (readonly SquaresTask[])[] = [1, 2, 3].map((count) =>
  Array.from({ length: 2 ** (columns ** 2) }, (_, set) =>
    Array.from({ length: columns ** 2 }, (_unused, cell) => cell).filter((cell) => (set >> cell) % 2 === 1),
  )
    .filter(({ length }) => length === count)
    .map((cells) => ({ cells })),
);

const client = new OpenAI({ apiKey: 'none', fetch: traceFetch() });

/** An agent that shows an image and asks for the number of squares: 1 when it is right, 0.3 for another possible number. */
export async function countSquares({ cells }: SquaresTask): Promise<number> {
  const url = `data:image/png;base64,${pictureOf(cells).toString('base64')}`;
  const { choices } = await client.chat.completions.create({
    model: 'tiny',
    messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }],
    max_tokens: 1,
  });
  const said = choices[0]?.message.content ?? '';
  if (said === String(cells.length)) return 1;
  return /^[123]$/.test(said) ? 0.3 : 0;
}

/** A PNG with white squares on black, in 8-bit greyscale (ISO/IEC 15948). */
function pictureOf(cells: readonly number[]): Buffer {
  const size = columns * cellPixels;
  const rows = Array.from({ length: size }, (_, y) => {
    const pixels = Array.from({ length: size }, (_unused, x) => {
      const isInside = [x, y].every((at) => at % cellPixels >= 1 && at % cellPixels < cellPixels - 1);
      const cell = Math.floor(y / cellPixels) * columns + Math.floor(x / cellPixels);
      return isInside && cells.includes(cell) ? 255 : 0;
    });
    return Buffer.from([0, ...pixels]);
  });
  const header = Buffer.from([0, 0, 0, size, 0, 0, 0, size, 8, 0, 0, 0, 0]);
  const parts = [
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(Buffer.concat(rows))),
    chunk('IEND', Buffer.alloc(0)),
  ];
  return Buffer.concat([Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]), ...parts]);
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type), data]);
  const ends = Buffer.alloc(8);
  ends.writeUInt32BE(data.length, 0);
  ends.writeUInt32BE(crc32(body), 4);
  return Buffer.concat([ends.subarray(0, 4), body, ends.subarray(4)]);
}
