import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeTensorFile, encodeTensorFile, type StoredTensor } from './safetensors.ts';

test('tensors and metadata round-trip bitwise', () => {
  const name = fc.string({ minLength: 1 }).filter((text) => !text.startsWith('__'));
  fc.assert(
    fc.property(fc.dictionary(name, fc.float32Array()), fc.uint8Array(), (floats, bytes) => {
      const tensors = new Map<string, StoredTensor>([
        ['__bytes', { dtype: 'U8', shape: [bytes.length], values: bytes }],
        ...Object.entries(floats).map(
          ([key, values]) => [key, { dtype: 'F32', shape: [values.length], values }] as const,
        ),
      ]);
      const file = { metadata: { a: 'é', b: '' }, tensors };
      expect(decodeTensorFile(encodeTensorFile(file), 'x')).toEqual(file);
    }),
  );
});

test('the layout is that of the format: header length, padded JSON header, data', () => {
  const tensors = new Map<string, StoredTensor>([['w', { dtype: 'F32', shape: [1], values: Float32Array.of(1) }]]);
  const bytes = encodeTensorFile({ metadata: {}, tensors });
  const headerLength = new DataView(bytes.buffer).getUint32(0, true);
  expect(headerLength % 8).toBe(0);
  expect(JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + headerLength)))).toMatchObject({
    w: { dtype: 'F32', shape: [1], data_offsets: [0, 4] },
  });
  expect([...bytes.subarray(8 + headerLength)]).toEqual([0, 0, 0x80, 0x3f]);
});

test.each([
  ['empty', new Uint8Array(3), /it has 3 bytes/],
  ['with a header longer than itself', Uint8Array.of(255, 0, 0, 0, 0, 0, 0, 0, 1), /longer than the file/],
  ['with a header that is not JSON', Uint8Array.of(1, 0, 0, 0, 0, 0, 0, 0, 0x78), /not JSON/],
])('a file %s is rejected with the reason', (_, bytes, reason) => {
  expect(() => decodeTensorFile(bytes, 'a.safetensors')).toThrow(reason);
  expect(() => decodeTensorFile(bytes, 'a.safetensors')).toThrow('a.safetensors');
});
