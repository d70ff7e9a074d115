import { accumulate } from '../accumulate.ts';
import type { ModelConfig } from '../model/model-config.ts';
import { type blockTensors, tensorViews } from '../model/parameters.ts';
import { type RotaryTable, rotaryTable } from '../model/rotary.ts';
import { attend } from './attention.ts';
import type { KeyValueCache } from './key-value-cache.ts';

type BlockWeights = Readonly<Record<(typeof blockTensors)[number], Float32Array>>;

/** Maximum tokens of one prefill chunk. */
const chunkRows = 32;

/**
 * The model's forward pass in plain typed arrays, for sampling: token by token with a key-value cache. It computes the
 * same as the differentiable `transformer.ts`, in an order of summation that depends only on the sequence.
 */
export class Decoder {
  readonly config: ModelConfig;
  readonly #embedding: Float32Array;
  readonly #unembedding: Float32Array;
  readonly #finalNorm: Float32Array;
  readonly #blocks: readonly BlockWeights[];
  readonly #rotary: RotaryTable;
  readonly #scratch: Scratch;

  /** Copies the parameters, so that training does not change the served weights. */
  constructor(config: ModelConfig, parameters: Float32Array) {
    const views = tensorViews(config, Float32Array.from(parameters));
    const view = (name: string): Float32Array => views[name] as Float32Array;
    this.config = config;
    this.#embedding = view('embedding');
    this.#unembedding = config.isTied ? view('embedding') : view('unembedding');
    this.#finalNorm = view('final_norm');
    this.#blocks = Array.from({ length: config.layers }, (_, layer) => blockWeights(view, layer));
    this.#rotary = rotaryTable(config, config.maxContext);
    this.#scratch = makeScratch(config);
  }

  /**
   * Appends tokens to a sequence and returns the logits after the last one. The next call overwrites the array.
   */
  append(tokens: readonly number[], cache: KeyValueCache): Float32Array {
    cache.reserve(cache.length + tokens.length);
    let rows = 0;
    for (let from = 0; from < tokens.length; from += chunkRows) {
      const chunk = tokens.slice(from, from + chunkRows);
      rows = chunk.length;
      this.#forward(chunk, cache);
    }
    return this.#logits(rows - 1);
  }

  #forward(tokens: readonly number[], cache: KeyValueCache): void {
    const { width } = this.config;
    const { residual } = this.#scratch;
    for (const [row, token] of tokens.entries()) {
      residual.set(this.#embedding.subarray(token * width, (token + 1) * width), row * width);
    }
    for (const [layer, block] of this.#blocks.entries()) {
      this.#attention(block, cache, { layer, rows: tokens.length });
      this.#feedForward(block, tokens.length);
    }
    cache.length += tokens.length;
  }

  #attention(block: BlockWeights, cache: KeyValueCache, place: { layer: number; rows: number }): void {
    const { width, heads } = this.config;
    const { residual, normed, queries, projected, mixed, scores } = this.#scratch;
    const { layer, rows } = place;
    const shape = { rows, inner: width, columns: width };
    const firstPosition = cache.length;
    const from = firstPosition * width;
    const keys = (cache.keys[layer] as Float32Array).subarray(from, from + rows * width);
    const values = (cache.values[layer] as Float32Array).subarray(from, from + rows * width);
    this.#norm(residual, block.attention_norm, rows);
    multiply({ input: normed, weights: block.query, output: queries, ...shape });
    multiply({ input: normed, weights: block.key, output: keys, ...shape });
    multiply({ input: normed, weights: block.value, output: values, ...shape });
    this.#rotate(queries, rows, firstPosition);
    this.#rotate(keys, rows, firstPosition);
    attend(cache, { layer, heads, queries, output: mixed, rows, firstPosition, width, scores });
    multiply({ input: mixed, weights: block.attention_output, output: projected, ...shape });
    accumulate(residual.subarray(0, rows * width), projected);
  }

  #feedForward(block: BlockWeights, rows: number): void {
    const { width, hidden } = this.config;
    const { residual, normed, gate, up, projected } = this.#scratch;
    this.#norm(residual, block.feed_forward_norm, rows);
    const widen = { input: normed, rows, inner: width, columns: hidden };
    multiply({ ...widen, weights: block.gate, output: gate });
    multiply({ ...widen, weights: block.up, output: up });
    for (let i = 0; i < rows * hidden; i++) {
      const x = gate[i] as number;
      gate[i] = (x / (1 + Math.exp(-x))) * (up[i] as number);
    }
    multiply({ input: gate, weights: block.down, output: projected, rows, inner: hidden, columns: width });
    accumulate(residual.subarray(0, rows * width), projected);
  }

  #norm(input: Float32Array, weights: Float32Array, rows: number): void {
    const { width, normEpsilon } = this.config;
    const { normed } = this.#scratch;
    for (let row = 0; row < rows; row++) {
      const from = row * width;
      let squares = 0;
      for (let i = 0; i < width; i++) squares += (input[from + i] as number) ** 2;
      const scale = 1 / Math.sqrt(squares / width + normEpsilon);
      for (let i = 0; i < width; i++) {
        normed[from + i] = (input[from + i] as number) * scale * (weights[i] as number);
      }
    }
  }

  #rotate(vectors: Float32Array, rows: number, firstPosition: number): void {
    const { width, heads } = this.config;
    const half = width / heads / 2;
    const { cosines, sines } = this.#rotary;
    for (let row = 0; row < rows; row++) {
      const table = (firstPosition + row) * half;
      for (let head = 0; head < heads; head++) {
        const from = row * width + head * half * 2;
        for (let i = 0; i < half; i++) {
          const cosine = cosines[table + i] as number;
          const sine = sines[table + i] as number;
          const a = vectors[from + i] as number;
          const b = vectors[from + half + i] as number;
          vectors[from + i] = a * cosine - b * sine;
          vectors[from + half + i] = b * cosine + a * sine;
        }
      }
    }
  }

  #logits(row: number): Float32Array {
    const { width, outputSize } = this.config;
    const { residual, normed, logits } = this.#scratch;
    this.#norm(residual.subarray(row * width, (row + 1) * width), this.#finalNorm, 1);
    multiply({
      input: normed,
      weights: this.#unembedding,
      output: logits,
      rows: 1,
      inner: width,
      columns: outputSize,
    });
    return logits;
  }
}

interface Scratch {
  readonly residual: Float32Array;
  readonly normed: Float32Array;
  readonly queries: Float32Array;
  readonly mixed: Float32Array;
  readonly projected: Float32Array;
  readonly gate: Float32Array;
  readonly up: Float32Array;
  readonly scores: Float32Array;
  readonly logits: Float32Array;
}

function makeScratch(config: ModelConfig): Scratch {
  const rows = (columns: number): Float32Array => new Float32Array(chunkRows * columns);
  const { width, hidden } = config;
  return {
    residual: rows(width),
    normed: rows(width),
    queries: rows(width),
    mixed: rows(width),
    projected: rows(width),
    gate: rows(hidden),
    up: rows(hidden),
    scores: new Float32Array(config.maxContext),
    logits: new Float32Array(config.outputSize),
  };
}

function blockWeights(view: (name: string) => Float32Array, layer: number): BlockWeights {
  const tensor = (name: (typeof blockTensors)[number]): Float32Array => view(`block_${layer}.${name}`);
  return {
    attention_norm: tensor('attention_norm'),
    query: tensor('query'),
    key: tensor('key'),
    value: tensor('value'),
    attention_output: tensor('attention_output'),
    feed_forward_norm: tensor('feed_forward_norm'),
    gate: tensor('gate'),
    up: tensor('up'),
    down: tensor('down'),
  };
}

/** The operands of {@link multiply}. */
interface Product {
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
function multiply({ input, weights, output, rows, inner, columns }: Product): void {
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
