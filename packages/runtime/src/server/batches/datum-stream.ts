import { BatchSchema } from '../../gen/agentlightning/runtime/v1/batch_pb.ts';
import { invalid } from '../invalid.ts';

const dataField = BatchSchema.field.data.number;
const [varint, bit64, lengthDelimited, bit32] = [0, 1, 2, 5];

/**
 * Splits a serialised `Batch` into its serialised `Datum`s while it is received, so that at most one of them is
 * buffered.
 */
export class DatumStream {
  #pieces: Uint8Array[] = [];
  #available = 0;
  /** Number of bytes required before progress is possible. */
  #wanted = 1;

  /** True when no bytes are buffered. */
  get isAtEnd(): boolean {
    return this.#available === 0;
  }

  /**
   * Adds bytes; yields the complete data.
   * @throws RuntimeError INVALID when it is not a serialised `Batch`
   */
  *push(piece: Uint8Array): Generator<Uint8Array> {
    for (let rest = piece; rest.byteLength > 0; ) {
      // A datum that began in an earlier chunk is completed with the minimum of this one: the rest is not copied.
      const isBegun = this.#available > 0;
      const part = isBegun ? rest.subarray(0, this.#wanted - this.#available) : rest;
      if (this.#available + part.byteLength < this.#wanted) {
        this.#keep([...this.#pieces, part], this.#wanted);
        return;
      }
      const whole = isBegun ? Buffer.concat([...this.#pieces, part]) : part;
      const field = readField(whole);
      if (field === undefined || field.end > whole.byteLength) {
        this.#keep([whole], field?.end ?? whole.byteLength + 1);
        rest = rest.subarray(part.byteLength);
        continue;
      }
      this.#keep([], 1);
      rest = isBegun ? rest.subarray(part.byteLength) : rest.subarray(field.end);
      if (field.isDatum) yield whole.subarray(field.start, field.end);
    }
  }

  /** Buffers an incomplete datum until `wanted` bytes are available. */
  #keep(pieces: Uint8Array[], wanted: number): void {
    this.#pieces = pieces;
    this.#available = pieces.reduce((sum, { byteLength }) => sum + byteLength, 0);
    this.#wanted = wanted;
  }
}

interface Field {
  readonly isDatum: boolean;
  /** Offset of its content. */
  readonly start: number;
  /** Offset after its last byte, which may not have been received yet. */
  readonly end: number;
}

/** The field at the start of the bytes; undefined when its length is not known yet. */
function readField(bytes: Uint8Array): Field | undefined {
  const tag = readVarint(bytes, 0);
  if (tag === undefined) return undefined;
  const [number, wireType] = [tag.value >>> 3, tag.value & 7];
  const other = (end: number): Field => ({ isDatum: false, start: tag.end, end });
  switch (wireType) {
    case lengthDelimited: {
      const length = readVarint(bytes, tag.end);
      if (length === undefined) return undefined;
      return { isDatum: number === dataField, start: length.end, end: length.end + length.value };
    }
    // Fields of later contract versions are skipped.
    case varint: {
      const value = readVarint(bytes, tag.end);
      return value === undefined ? undefined : other(value.end);
    }
    case bit64:
      return other(tag.end + 8);
    case bit32:
      return other(tag.end + 4);
    default:
      throw invalid('payload', `is not a serialised Batch: field ${number} has the unknown wire type ${wireType}`);
  }
}

/** A number of up to 32 bits in the first bytes; undefined when incomplete. */
function readVarint(bytes: Uint8Array, start: number): { readonly value: number; readonly end: number } | undefined {
  let value = 0;
  for (let at = start; at < bytes.byteLength; at += 1) {
    if (at - start >= 10) throw invalid('payload', 'is not a serialised Batch: a number in it has more than 64 bits');
    const byte = bytes[at] ?? 0;
    value += (byte & 0x7f) * 2 ** (7 * (at - start));
    if (byte < 0x80) return { value, end: at + 1 };
  }
  return undefined;
}
