const isLittleEndian = new Uint8Array(Uint32Array.of(1).buffer)[0] === 1;

/** Numbers as packed little-endian bytes. On a little-endian machine a view of the same memory. */
export function packArray(numbers: Float32Array | Int32Array): Uint8Array {
  const bytes = new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength);
  return isLittleEndian ? bytes : Buffer.from(bytes).swap32();
}

/** float32 numbers from packed little-endian bytes; always a copy, since decoded bytes are not aligned. */
export function unpackFloat32(bytes: Uint8Array): Float32Array {
  return new Float32Array(alignedCopy(bytes));
}

/** int32 numbers from packed little-endian bytes; always a copy, since decoded bytes are not aligned. */
export function unpackInt32(bytes: Uint8Array): Int32Array {
  return new Int32Array(alignedCopy(bytes));
}

function alignedCopy(bytes: Uint8Array): ArrayBuffer {
  const copy = new Uint8Array(bytes.byteLength);
  copy.set(bytes);
  if (!isLittleEndian) Buffer.from(copy.buffer).swap32();
  return copy.buffer;
}
