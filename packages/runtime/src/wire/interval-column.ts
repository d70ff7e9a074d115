/** Which tokens are trained. */
interface Trained {
  readonly trained: readonly { readonly start: number; readonly end: number }[];
}

/**
 * A column of the trained tokens in as few numbers as tell it all: one for all when they are the same, to the bit; one
 * for each interval when they are the same throughout each; else as it is.
 */
export function gathered(column: Float32Array, { trained }: Trained): Float32Array {
  // Bits, so that 0 and -0, or two kinds of NaN, are not taken for one.
  const bits = new Int32Array(column.buffer, column.byteOffset, column.length);
  const first: number[] = [];
  let at = 0;
  for (const { start, end } of trained) {
    const length = Math.max(0, end - start);
    for (let token = at + 1; token < at + length; token += 1) if (bits[token] !== bits[at]) return column;
    if (length > 0) first.push(at);
    at += length;
  }
  // Not a column of these intervals; whoever receives it says what is wrong with it.
  if (at !== column.length || first.length !== trained.length) return column;
  if (first.every((token) => bits[token] === bits[0])) return column.subarray(0, 1);
  return Float32Array.from(first, (token) => column[token] ?? 0);
}

/** The number of each trained token. A column of a length that fits nothing stays as it is. */
export function spread(numbers: Float32Array, { trained }: Trained): Float32Array {
  const count = trained.reduce((sum, { start, end }) => sum + Math.max(0, end - start), 0);
  if (numbers.length === count) return numbers;
  if (numbers.length === 1) return new Float32Array(count).fill(numbers[0] ?? 0);
  if (numbers.length !== trained.length) return numbers;
  const column = new Float32Array(count);
  let at = 0;
  for (const [index, { start, end }] of trained.entries()) {
    const length = Math.max(0, end - start);
    column.fill(numbers[index] ?? 0, at, at + length);
    at += length;
  }
  return column;
}
