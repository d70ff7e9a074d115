import { crc32 } from 'node:zlib';

const blockLength = 32_768;
const headerLength = 7;

/** Kinds of the parts of a record. */
const kinds = { full: 1, first: 2, middle: 3, last: 4 } as const;

/** The format of `.wandb` files: a log of LevelDB whose checksums are CRC-32, after a header of the file. */
export class WandbLog {
  /** Number of bytes so far. */
  #length = 0;

  /** The header of the file. */
  header(): Uint8Array {
    const header = Buffer.alloc(headerLength);
    header.write(':W&B', 'latin1');
    header.writeUInt16LE(0xbee1, 4);
    this.#length += header.length;
    return header;
  }

  /** A record in parts, none of which crosses the end of a block. */
  frame(data: Uint8Array): Uint8Array {
    const parts: Uint8Array[] = [];
    let offset = 0;
    do {
      let left = blockLength - (this.#length % blockLength);
      if (left < headerLength) {
        parts.push(new Uint8Array(left));
        this.#length += left;
        left = blockLength;
      }
      const part = data.subarray(offset, offset + left - headerLength);
      const isFirst = offset === 0;
      offset += part.length;
      const isLast = offset === data.length;
      const kind = isFirst ? (isLast ? kinds.full : kinds.first) : isLast ? kinds.last : kinds.middle;
      parts.push(partHeader(part, kind), part);
      this.#length += headerLength + part.length;
    } while (offset < data.length);
    return Buffer.concat(parts);
  }
}

function partHeader(part: Uint8Array, kind: number): Uint8Array {
  const header = Buffer.alloc(headerLength);
  header.writeUInt32LE(crc32(part, crc32(Uint8Array.of(kind))), 0);
  header.writeUInt16LE(part.length, 4);
  header.writeUInt8(kind, 6);
  return header;
}
