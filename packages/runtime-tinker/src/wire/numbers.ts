/** Numbers as little-endian bytes, as in tensors of the protocol. */
export function bytesOf(numbers: Int32Array | BigInt64Array | Float32Array): Uint8Array {
  return new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength);
}

/** The elements of a tensor, whose bytes may begin anywhere in a buffer. */
export function int32sOf(bytes: Uint8Array): Int32Array {
  return new Int32Array(bytes.slice().buffer);
}

/** As {@link int32sOf}, for float32. */
export function floatsOf(bytes: Uint8Array): Float32Array {
  return new Float32Array(bytes.slice().buffer);
}

/** As {@link int32sOf}, for offsets in bytes. */
export function offsetsOf(bytes: Uint8Array): readonly number[] {
  return [...new BigInt64Array(bytes.slice().buffer)].map(Number);
}
