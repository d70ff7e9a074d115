import { ColumnMemory } from './packed-array.ts';

/** The trained tokens. */
interface Trained {
  readonly trained: readonly { readonly start: number; readonly end: number }[];
}

/**
 * Encodes a column of the trained tokens in the fewest numbers: one for all when they are bitwise equal; one per
 * interval when they are equal within each; else unchanged.
 */
export function gathered(column: Float32Array, { trained }: Trained): Float32Array {
  const lengths = trained.map(({ start, end }) => Math.max(0, end - start));
  const isOfThese =
    lengths.every((length) => length > 0) && lengths.reduce((sum, length) => sum + length, 0) === column.length;
  // The length does not match these intervals; the receiver reports the error.
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
 * Whether float32 numbers are all equal: then the bytes equal themselves shifted by four. Bits are compared, to
 * distinguish 0 from -0, and kinds of NaN.
 */
function isOneNumber(bytes: Uint8Array): boolean {
  return Buffer.compare(bytes.subarray(4), bytes.subarray(0, -4)) === 0;
}

/**
 * Expands a column to one number per trained token. A column of another length is returned unchanged.
 * @param memory - allocator of the result, when it differs from the input. Default: separate memory
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
