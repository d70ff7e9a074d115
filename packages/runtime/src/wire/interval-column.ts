import { ColumnMemory } from './packed-array.ts';

/** Which tokens are trained. */
interface Trained {
  readonly trained: readonly { readonly start: number; readonly end: number }[];
}

/**
 * A column of the trained tokens in as few numbers as tell it all: one for all when they are the same, to the bit; one
 * for each interval when they are the same throughout each; else as it is.
 */
export function gathered(column: Float32Array, { trained }: Trained): Float32Array {
  const lengths = trained.map(({ start, end }) => Math.max(0, end - start));
  const isOfThese =
    lengths.every((length) => length > 0) && lengths.reduce((sum, length) => sum + length, 0) === column.length;
  // Not a column of these intervals; whoever receives it says what is wrong with it.
  if (!isOfThese) return column;
  const bytes = new Uint8Array(column.buffer, column.byteOffset, column.byteLength);
  if (isOneNumber(bytes)) return column.subarray(0, 1);
  const numbers = new Float32Array(lengths.length);
  let at = 0;
  for (const [index, length] of lengths.entries()) {
    if (!isOneNumber(bytes.subarray(at * 4, (at + length) * 4))) return column;
    numbers[index] = column[at] ?? 0;
    at += length;
  }
  return numbers;
}

/**
 * Whether float32 numbers are all the same: then their bytes are the same as themselves four bytes on. Bits are compared,
 * so that 0 and -0, or two kinds of NaN, are not taken for one.
 */
function isOneNumber(bytes: Uint8Array): boolean {
  return Buffer.compare(bytes.subarray(4), bytes.subarray(0, -4)) === 0;
}

/**
 * The number of each trained token. A column of a length that fits nothing stays as it is.
 * @param memory - where the result lies, when it is not what came. Defaults to memory of its own
 */
export function spread(
  numbers: Float32Array,
  { trained }: Trained,
  memory: ColumnMemory = new ColumnMemory(),
): Float32Array {
  const count = trained.reduce((sum, { start, end }) => sum + Math.max(0, end - start), 0);
  const isOne = numbers.length === 1;
  if (numbers.length === count || !(isOne || numbers.length === trained.length)) return numbers;
  const { buffer, byteOffset } = memory.take(count);
  const column = new Float32Array(buffer, byteOffset, count);
  if (isOne) return column.fill(numbers[0] ?? 0);
  let at = 0;
  for (const [index, { start, end }] of trained.entries()) {
    const length = Math.max(0, end - start);
    column.fill(numbers[index] ?? 0, at, at + length);
    at += length;
  }
  return column;
}
