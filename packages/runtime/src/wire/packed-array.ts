const isLittleEndian = new Uint8Array(Uint32Array.of(1).buffer)[0] === 1;

/** Numbers as packed little-endian bytes. On a little-endian machine a view. */
export function packArray(numbers: Float32Array | Int32Array): Uint8Array {
  const bytes = new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength);
  return isLittleEndian ? bytes : Buffer.from(bytes).swap32();
}

/**
 * Memory for the arrays of a batch, allocated in blocks: a separate array for each of thousands of columns costs more
 * than filling it, and burdens garbage collection.
 */
export class ColumnMemory {
  readonly #blockBytes: number;
  #block: ArrayBuffer = new ArrayBuffer(0);
  #at = 0;

  /** @param blockBytes - size of an allocation, in bytes. Default: a separate one for each array */
  constructor(blockBytes = 0) {
    this.#blockBytes = blockBytes;
  }

  /** Uninitialised memory for this number of four-byte values. */
  take(count: number): { readonly buffer: ArrayBuffer; readonly byteOffset: number } {
    const byteLength = count * 4;
    if (this.#at + byteLength > this.#block.byteLength) {
      this.#block = Buffer.allocUnsafeSlow(Math.max(this.#blockBytes, byteLength)).buffer;
      this.#at = 0;
    }
    const byteOffset = this.#at;
    this.#at += byteLength;
    return { buffer: this.#block, byteOffset };
  }
}

/** float32 numbers from packed little-endian bytes; always a copy, since decoded bytes are not aligned. */
export function unpackFloat32(bytes: Uint8Array, memory: ColumnMemory = new ColumnMemory()): Float32Array {
  const { buffer, byteOffset } = alignedCopy(bytes, memory);
  return new Float32Array(buffer, byteOffset, bytes.byteLength / 4);
}

/** int32 numbers from packed little-endian bytes; always a copy, since decoded bytes are not aligned. */
export function unpackInt32(bytes: Uint8Array, memory: ColumnMemory = new ColumnMemory()): Int32Array {
  const { buffer, byteOffset } = alignedCopy(bytes, memory);
  return new Int32Array(buffer, byteOffset, bytes.byteLength / 4);
}

function alignedCopy(bytes: Uint8Array, memory: ColumnMemory): ReturnType<ColumnMemory['take']> {
  const place = memory.take(bytes.byteLength / 4);
  const copy = new Uint8Array(place.buffer, place.byteOffset, bytes.byteLength);
  copy.set(bytes);
  if (!isLittleEndian) Buffer.from(place.buffer, place.byteOffset, bytes.byteLength).swap32();
  return place;
}
