import { crc32, deflateSync } from 'node:zlib';
import { traceFetch } from '@agentlightning/fetch';
import OpenAI from 'openai';

/** A task of {@link describePicture}: the shade of grey of the picture, from 0 to 255. */
export interface PictureTask {
  readonly grey: number;
}

/** Width and height of a picture, in pixels: four tokens of the small vision-language model. */
const size = 16;

const client = new OpenAI({ apiKey: 'none', fetch: traceFetch() });

/** An agent that shows a picture, with the reward 1 for a character with an even code: half of what a model without training writes. */
export async function describePicture({ grey }: PictureTask): Promise<number> {
  const url = `data:image/png;base64,${pictureOf(grey).toString('base64')}`;
  const { choices } = await client.chat.completions.create({
    model: 'tiny',
    messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }],
    max_tokens: 1,
    logprobs: true,
  });
  return ((choices[0]?.logprobs?.content?.[0]?.bytes?.[0] ?? 1) + 1) % 2;
}

/** A PNG of one shade, in 8-bit greyscale (ISO/IEC 15948), with a comment that makes it large enough to be stored once. */
function pictureOf(grey: number): Buffer {
  const row = Buffer.concat([Buffer.of(0), Buffer.alloc(size, grey)]);
  const parts = [
    chunk('IHDR', Buffer.of(0, 0, 0, size, 0, 0, 0, size, 8, 0, 0, 0, 0)),
    chunk('tEXt', Buffer.from(`Comment\0${'grey '.repeat(200)}`)),
    chunk('IDAT', deflateSync(Buffer.concat(Array.from({ length: size }, () => row)))),
    chunk('IEND', Buffer.alloc(0)),
  ];
  return Buffer.concat([Buffer.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a), ...parts]);
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type), data]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const check = Buffer.alloc(4);
  check.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, check]);
}
