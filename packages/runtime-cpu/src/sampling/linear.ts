/** The operands of {@link multiply}. */
export interface Product {
  /** Rows of input, `rows × inner`. */
  readonly input: Float32Array;
  /** The weights, output × input: `columns × inner`. */
  readonly weights: Float32Array;
  /** Receives `rows × columns`. */
  readonly output: Float32Array;
  readonly rows: number;
  readonly inner: number;
  /** A multiple of 4. */
  readonly columns: number;
}

/**
 * Matrix product `input · weightsᵀ`. Every element is summed in the same order for any number of rows, so a token's
 * result is bitwise independent of the batch.
 */
export function multiply({ input, weights, output, rows, inner, columns }: Product): void {
  for (let row = 0; row < rows; row++) {
    const from = row * inner;
    for (let column = 0; column < columns; column += 4) {
      const w0 = column * inner;
      const w1 = w0 + inner;
      const w2 = w1 + inner;
      const w3 = w2 + inner;
      let s0 = 0;
      let s1 = 0;
      let s2 = 0;
      let s3 = 0;
      for (let k = 0; k < inner; k++) {
        const x = input[from + k] as number;
        s0 += x * (weights[w0 + k] as number);
        s1 += x * (weights[w1 + k] as number);
        s2 += x * (weights[w2 + k] as number);
        s3 += x * (weights[w3 + k] as number);
      }
      const to = row * columns + column;
      output[to] = s0;
      output[to + 1] = s1;
      output[to + 2] = s2;
      output[to + 3] = s3;
    }
  }
}
