import { pathToFileURL } from 'node:url';
import { spanToWire } from '@agentlightning/core/protocol';
import { aSpan } from '@agentlightning/core/testing';
import { expect, test } from 'vitest';
import { MalformedRequestError } from '../malformed-request-error.ts';
import { decodeSpanBatch, type EncodedSpanBatch } from './decode-span-batch.ts';
import { SpanDecoder } from './span-decoder.ts';

const spans = [1, 2, 3].map((index) => spanToWire(aSpan({ name: `Schritt ${index} – größer`, sequenceId: index })));
/** Anew each time: a decoder keeps what it is given. */
const batch = (): EncodedSpanBatch => encoded({ spans }, 'POST /spans\n');
const bad = (): EncodedSpanBatch => encoded({ spans: [...spans, { ...spans[0], name: 7 }] });

test('reads the same in another thread as in this one', async () => {
  const decoder = new SpanDecoder({ threadFromBytes: 0 });
  const here = decodeSpanBatch(batch());
  expect(here.rows).toHaveLength(3);
  expect(here.requestHash).toMatch(/^[\w-]{43}$/);
  expect(await Promise.all([decoder.decode(batch()), decoder.decode(batch())])).toEqual([here, here]);
});

test('says the same of a bad batch in another thread as in this one', async () => {
  const issues = [{ path: 'spans[3].name', message: expect.stringContaining('expected string') }];
  expect(() => decodeSpanBatch(bad())).toThrow(MalformedRequestError);
  for (const threadFromBytes of [0, Number.POSITIVE_INFINITY]) {
    const refused = new SpanDecoder({ threadFromBytes }).decode(bad());
    await expect(refused).rejects.toBeInstanceOf(MalformedRequestError);
    await expect(refused).rejects.toMatchObject({ issues });
  }
});

test('reads here what the other thread cannot, in a program that was bundled without it', async () => {
  const decoder = new SpanDecoder({ threadFromBytes: 0, program: pathToFileURL('/nowhere/span-decoder-worker.js') });
  expect(await decoder.decode(batch())).toEqual(decodeSpanBatch(batch()));
  await expect(decoder.decode(bad())).rejects.toBeInstanceOf(MalformedRequestError);
});

test('starts another thread after the first one has ended for want of work', async () => {
  const decoder = new SpanDecoder({ threadFromBytes: 0, idleMs: 0 });
  for (let round = 0; round < 3; round += 1) {
    expect(await decoder.decode(batch())).toEqual(decodeSpanBatch(batch()));
    await new Promise((resolve) => setImmediate(resolve));
  }
});

function encoded(body: unknown, hashPrefix: string | null = null): EncodedSpanBatch {
  const bytes = new TextEncoder().encode(JSON.stringify(body));
  // Cut in the middle, as they come.
  return { pieces: [bytes.slice(0, 200), bytes.slice(200)], hashPrefix };
}
