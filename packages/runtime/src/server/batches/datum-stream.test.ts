import { create, toBinary } from '@bufbuild/protobuf';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BatchSchema, DatumSchema } from '../../gen/agentlightning/runtime/v1/batch_pb.ts';
import { DatumStream } from './datum-stream.ts';

const anyDatum = fc.record({ rolloutId: fc.string({ maxLength: 300 }), tokenIds: fc.uint8Array({ maxLength: 300 }) });

/** The output when bytes are pushed in chunks of these sizes, repeated. */
function cut(bytes: Uint8Array, sizes: readonly number[]): { data: readonly Uint8Array[]; isAtEnd: boolean } {
  const stream = new DatumStream();
  const data: Uint8Array[] = [];
  for (let from = 0, turn = 0; from < bytes.byteLength; turn += 1) {
    const size = sizes[turn % sizes.length] ?? 1;
    for (const datum of stream.push(bytes.subarray(from, from + size))) data.push(Uint8Array.from(datum));
    from += size;
  }
  return { data, isAtEnd: stream.isAtEnd };
}

describe('a batch in chunks', () => {
  it('returns the same data for any chunking', () => {
    const anySizes = fc.array(fc.integer({ min: 1, max: 700 }), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(fc.array(anyDatum, { maxLength: 6 }), anySizes, (data, sizes) => {
        const messages = data.map((datum) => create(DatumSchema, datum));
        const payload = toBinary(BatchSchema, create(BatchSchema, { data: messages }));
        const expected = messages.map((message) => toBinary(DatumSchema, message));
        expect(cut(payload, sizes)).toEqual({ data: expected, isAtEnd: true });
      }),
    );
  });

  it('skips fields of later versions', () => {
    const later = new BinaryWriter();
    later.tag(2, WireType.Varint).uint64('18446744073709551615');
    later.tag(3, WireType.Bit64).double(0.5);
    later.tag(4, WireType.LengthDelimited).string('later');
    later.tag(5, WireType.Bit32).float(0.5);
    const datum = toBinary(DatumSchema, create(DatumSchema, { rolloutId: 'ro-1' }));
    const payload = later.tag(1, WireType.LengthDelimited).bytes(datum).finish();
    for (const size of [1, 3, 1_000]) expect(cut(payload, [size])).toEqual({ data: [datum], isAtEnd: true });
  });

  it('detects missing bytes', () => {
    const message = create(BatchSchema, { data: [create(DatumSchema, { rolloutId: 'ro-1' })] });
    const payload = toBinary(BatchSchema, message);
    expect(cut(payload.subarray(0, -1), [4])).toEqual({ data: [], isAtEnd: false });
  });

  it.each([
    ['an unknown wire type', Uint8Array.of(0x0b)],
    ['a number without an end', new Uint8Array(20).fill(0xff)],
  ])('refuses %s', (_what, bytes) => {
    expect(() => cut(bytes, [1])).toThrow(expect.objectContaining({ code: 'RUNTIME_REJECTED', field: 'payload' }));
  });
});
