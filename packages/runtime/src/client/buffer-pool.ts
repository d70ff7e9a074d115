/** How much memory is kept for later, in bytes: enough for some batches of a million tokens. */
const keptBytes = 32 * 1024 * 1024;

/**
 * Memory for batches, used again and again, and shared with the thread that sends them. Fresh memory for every upload would cost more than filling it: the system has
 * to clear each page, and the garbage collector comes by for every few batches.
 */
export class BufferPool {
  #free: Uint8Array[] = [];

  /** Memory of at least this size, with whatever was in it. */
  take(byteLength: number): Uint8Array {
    const fitting = this.#free.filter((buffer) => buffer.byteLength >= byteLength);
    const [smallest] = fitting.toSorted((one, other) => one.byteLength - other.byteLength);
    if (smallest === undefined) return new Uint8Array(new SharedArrayBuffer(byteLength));
    this.#free = this.#free.filter((buffer) => buffer !== smallest);
    return smallest;
  }

  /** Gives memory back that nobody reads any more. The latest is kept, the oldest is left to the garbage collector. */
  give(buffer: Uint8Array): void {
    let total = 0;
    this.#free = [buffer, ...this.#free].filter(({ byteLength }) => {
      total += byteLength;
      return total <= keptBytes;
    });
  }
}
