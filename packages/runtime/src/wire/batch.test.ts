import { fromBinary } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BatchSchema } from '../gen/agentlightning/runtime/v1/batch_pb.ts';
import { aBatch } from '../testing/index.ts';
import { decodeBatch, decodeDatum, encodeBatch } from './batch.ts';

const float32s = (count: number) =>
  fc
    .array(fc.float({ noNaN: true }), { minLength: count, maxLength: count })
    .map((values) => Float32Array.from(values));

const anyDatum = fc
  .record({ tokens: fc.integer({ min: 2, max: 30 }), count: fc.integer({ min: 1, max: 12 }) })
  .chain(({ tokens, count }) =>
    fc.record({
      tokenIds: fc
        .array(fc.integer({ min: 0, max: 0x7fff_ffff }), { minLength: tokens, maxLength: tokens })
        .map((ids) => Int32Array.from(ids)),
      trained: fc.constant([{ start: 1, end: 1 + count }]),
      samplingLogprobs: float32s(count),
      advantages: float32s(count),
      weights: float32s(count),
      referenceLogprobs: float32s(count),
      valueTargets: float32s(count),
      samplingValues: float32s(count),
      temperature: fc.double({ min: 0.01, max: 5, noNaN: true }),
      rolloutId: fc.string(),
      groupId: fc.string(),
      minPolicyVersion: fc.integer({ min: 0, max: 0xffff_ffff }),
      maxPolicyVersion: fc.integer({ min: 0, max: 0xffff_ffff }),
    }),
  );

describe('a batch on the wire', () => {
  it('round-trips bitwise', () => {
    fc.assert(
      fc.property(fc.array(anyDatum, { maxLength: 4 }), (data) => {
        const { payload, datumCount, tokenCount } = encodeBatch({ data });
        expect(decodeBatch(payload).map((datum) => decodeDatum(datum))).toEqual(data);
        expect(datumCount).toBe(data.length);
        expect(tokenCount).toBe(data.reduce((sum, { tokenIds }) => sum + tokenIds.length, 0));
      }),
    );
  });

  it('has each image once, as a file', () => {
    const [one, other] = ['a picture', 'another'].map((text) => `data:image/png;base64,${btoa(text)}`);
    const images = [[one, other], [], [other]] as string[][];
    const data = aBatch([1, 2, 3]).data.map((datum, index) => ({ ...datum, images: images[index] ?? [] }));
    const batch = fromBinary(BatchSchema, encodeBatch({ data }).payload);
    expect(batch.images.map((file) => Buffer.from(file).toString())).toEqual(['a picture', 'another']);
    expect(batch.data.map((datum) => datum.images)).toEqual([[0, 1], [], [1]]);
  });

  it('refuses an image by its address', () => {
    const data = aBatch([1]).data.map((datum) => ({ ...datum, images: ['https://example.com/a.png'] }));
    expect(() => encodeBatch({ data })).toThrow(/data\.images: it is https:\/\/example\.com\/a\.png/);
  });

  it('omits an absent reference', () => {
    const { payload } = encodeBatch(aBatch([1]));
    const [datum] = decodeBatch(payload).map((datum) => decodeDatum(datum));
    expect(datum).not.toHaveProperty('referenceLogprobs');
  });

  it('is compact: packed arrays', () => {
    const count = 1_000;
    const half = { trained: [{ start: count / 2, end: count }] };
    const numbers = { samplingLogprobs: new Float32Array(count / 2), advantages: new Float32Array(count / 2) };
    const datum = { ...half, ...numbers, weights: new Float32Array(count / 2), tokenIds: new Int32Array(count) };
    const { payload } = encodeBatch(aBatch([1], datum));
    expect(payload.byteLength / count).toBeLessThan(10.1);
  });
});
