import type { KeyValueCache } from './key-value-cache.ts';

/** Operands of {@link attend}. */
export interface AttentionInput {
  readonly layer: number;
  readonly heads: number;
  /** Queries with positions applied, rows × width. */
  readonly queries: Float32Array;
  /** Receives the heads' outputs, rows × width. */
  readonly output: Float32Array;
  readonly rows: number;
  /** The position of the first row; the cache already holds the rows' own keys and values. */
  readonly firstPosition: number;
  readonly width: number;
  /** Scratch space for at least as many numbers as the cache has positions. */
  readonly scores: Float32Array;
}

/** Causal attention of a few new tokens over a sequence's cached keys and values. */
export function attend(cache: KeyValueCache, input: AttentionInput): void {
  const keys = cache.keys[input.layer] as Float32Array;
  const values = cache.values[input.layer] as Float32Array;
  const headWidth = input.width / input.heads;
  input.output.fill(0, 0, input.rows * input.width);
  for (let row = 0; row < input.rows; row++) {
    for (let head = 0; head < input.heads; head++) {
      const from = row * input.width + head * headWidth;
      const total = scoreKeys(keys, input, { row, from, head, headWidth });
      const { scores, output, width } = input;
      for (let position = 0; position <= input.firstPosition + row; position++) {
        const weight = (scores[position] as number) / total;
        const at = position * width + head * headWidth;
        for (let i = 0; i < headWidth; i++) {
          output[from + i] = (output[from + i] as number) + weight * (values[at + i] as number);
        }
      }
    }
  }
}

interface HeadPlace {
  readonly row: number;
  readonly from: number;
  readonly head: number;
  readonly headWidth: number;
}

/** Fills the scores with exp(q·k/√d - max) and returns their sum. */
function scoreKeys(keys: Float32Array, input: AttentionInput, place: HeadPlace): number {
  const { queries, scores, width, firstPosition } = input;
  const { row, from, head, headWidth } = place;
  const scale = 1 / Math.sqrt(headWidth);
  const positions = firstPosition + row + 1;
  let highest = -Infinity;
  for (let position = 0; position < positions; position++) {
    const at = position * width + head * headWidth;
    let dot = 0;
    for (let i = 0; i < headWidth; i++) dot += (queries[from + i] as number) * (keys[at + i] as number);
    scores[position] = dot * scale;
    if (dot * scale > highest) highest = dot * scale;
  }
  let total = 0;
  for (let position = 0; position < positions; position++) {
    const weight = Math.exp((scores[position] as number) - highest);
    scores[position] = weight;
    total += weight;
  }
  return total;
}
