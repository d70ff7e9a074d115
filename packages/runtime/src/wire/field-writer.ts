import { WireType } from '@bufbuild/protobuf/wire';

/** Number of bytes of a whole number from 0 to 2 ** 32 - 1 as a varint. */
export function varintLength(value: number): number {
  let length = 1;
  for (let rest = value; rest > 0x7f; rest >>>= 7) length += 1;
  return length;
}

/** Number of bytes of a field of so many bytes of content, its tag and length included. */
export function fieldLength(number: number, contentBytes: number): number {
  return varintLength(number << 3) + varintLength(contentBytes) + contentBytes;
}

/**
 * Writes protobuf fields one after the other into memory that is large enough, nothing in between: a writer that grows
 * costs more than the copying where there are thousands of fields, most of them small.
 */
export class FieldWriter {
  readonly #memory: Buffer;
  #at = 0;

  constructor(memory: Uint8Array) {
    this.#memory = Buffer.from(memory.buffer, memory.byteOffset, memory.byteLength);
  }

  /** How many bytes are written. */
  get byteLength(): number {
    return this.#at;
  }

  /** The tag and length of a field whose content follows. */
  head(number: number, contentBytes: number): void {
    this.#varint((number << 3) | WireType.LengthDelimited);
    this.#varint(contentBytes);
  }

  /** A field of bytes. */
  bytes(number: number, content: Uint8Array): void {
    this.head(number, content.byteLength);
    // Where memory is shared, this is sixteen times as fast as `set`.
    this.#at += Buffer.from(content.buffer, content.byteOffset, content.byteLength).copy(this.#memory, this.#at);
  }

  /** A field of text, whose length in bytes is known. */
  text(number: number, content: string, byteLength: number): void {
    this.head(number, byteLength);
    this.#at += this.#memory.write(content, this.#at);
  }

  /** A field of a whole number from 0 to 2 ** 32 - 1. */
  uint32(number: number, value: number): void {
    this.#varint((number << 3) | WireType.Varint);
    this.#varint(value);
  }

  /** A field of float64. */
  double(number: number, value: number): void {
    this.#varint((number << 3) | WireType.Bit64);
    this.#at = this.#memory.writeDoubleLE(value, this.#at);
  }

  #varint(value: number): void {
    let rest = value;
    for (; rest > 0x7f; rest >>>= 7) this.#memory[this.#at++] = (rest & 0x7f) | 0x80;
    this.#memory[this.#at++] = rest;
  }
}
