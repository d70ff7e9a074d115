import { type Address, Kernels } from '../model/kernels.ts';
import type { ModelConfig } from '../model/model-config.ts';
import { type blockTensors, tensorViews } from '../model/parameters.ts';
import { rotaryTable } from '../model/rotary.ts';
import { attend } from './attention.ts';
import type { KeyValueCache } from './key-value-cache.ts';

/** A block's weights: vectors of norms, and matrices as inputs × outputs. */
type BlockWeights = Readonly<Record<(typeof blockTensors)[number], Address>>;

/** Maximum tokens of one prefill chunk. */
const chunkRows = 32;

/**
 * The model's forward pass for sampling: token by token with a key-value cache. It computes the same as the training's
 * `transformer.ts`, in an order of summation that depends only on the sequence.
 */
export class Decoder {
  readonly config: ModelConfig;
  readonly #kernels: Kernels;
  readonly #embedding: Float32Array;
  readonly #unembedding: Address;
  readonly #finalNorm: Address;
  readonly #blocks: readonly BlockWeights[];
  readonly #cosines: Address;
  readonly #sines: Address;
  readonly #scratch: Readonly<Record<ScratchName, Address>>;
  readonly #scores: Float32Array;
  /** Views of the scratch space; nothing is allocated after the construction. */
  readonly #views: Readonly<Record<'residual' | 'queries' | 'keys' | 'values' | 'mixed' | 'logits', Float32Array>>;

  /** Copies the parameters, so that training does not change the served weights. */
  constructor(config: ModelConfig, parameters: Float32Array) {
    const kernels = new Kernels();
    const views = tensorViews(config, parameters);
    const view = (name: string): Float32Array => views[name] as Float32Array;
    const { width, hidden, outputSize, maxContext } = config;
    this.config = config;
    this.#kernels = kernels;
    this.#embedding = Float32Array.from(view('embedding'));
    const unembedding = config.isTied ? view('embedding').subarray(0, outputSize * width) : view('unembedding');
    this.#unembedding = transposed(kernels, unembedding, width);
    this.#finalNorm = kernels.copyFloats(view('final_norm'));
    this.#blocks = Array.from({ length: config.layers }, (_, layer) => {
      const tensor = (name: string): Float32Array => view(`block_${layer}.${name}`);
      const norm = (name: string): Address => kernels.copyFloats(tensor(name));
      const matrix = (name: string, inner: number): Address => transposed(kernels, tensor(name), inner);
      return {
        attention_norm: norm('attention_norm'),
        query: matrix('query', width),
        key: matrix('key', width),
        value: matrix('value', width),
        attention_output: matrix('attention_output', width),
        feed_forward_norm: norm('feed_forward_norm'),
        gate: matrix('gate', width),
        up: matrix('up', width),
        down: matrix('down', hidden),
      };
    });
    const { cosines, sines } = rotaryTable(
      config,
      Array.from({ length: maxContext }, (_, position) => position),
    );
    this.#cosines = kernels.copyFloats(cosines);
    this.#sines = kernels.copyFloats(sines);
    const rows = (columns: number): Address => kernels.zeros(chunkRows * columns);
    this.#scratch = {
      residual: rows(width),
      normed: rows(width),
      scales: rows(1),
      positions: rows(1),
      queries: rows(width),
      keys: rows(width),
      values: rows(width),
      mixed: rows(width),
      gate: rows(hidden),
      up: rows(hidden),
      logits: kernels.zeros(outputSize),
    };
    this.#scores = new Float32Array(maxContext);
    const seen = (name: ScratchName): Float32Array => kernels.floats(this.#scratch[name], chunkRows * width);
    this.#views = {
      residual: seen('residual'),
      queries: seen('queries'),
      keys: seen('keys'),
      values: seen('values'),
      mixed: seen('mixed'),
      logits: kernels.floats(this.#scratch.logits, outputSize),
    };
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
    for (const [row, token] of tokens.entries()) {
      this.#views.residual.set(this.#embedding.subarray(token * width, (token + 1) * width), row * width);
    }
    const positions = tokens.map((_, row) => cache.length + row);
    this.#kernels.integers(this.#scratch.positions, tokens.length).set(positions);
    for (const [layer, block] of this.#blocks.entries()) {
      this.#attention(block, cache, { layer, rows: tokens.length });
      this.#feedForward(block, tokens.length);
    }
    cache.length += tokens.length;
  }

  #attention(block: BlockWeights, cache: KeyValueCache, place: { layer: number; rows: number }): void {
    const { width, heads } = this.config;
    const { run } = this.#kernels;
    const { residual, normed, queries, keys, values, mixed, positions } = this.#scratch;
    const { layer, rows } = place;
    this.#norm(residual, block.attention_norm, rows);
    run.multiply(queries, normed, block.query, rows, width, width);
    run.multiply(keys, normed, block.key, rows, width, width);
    run.multiply(values, normed, block.value, rows, width, width);
    for (const vectors of [queries, keys]) {
      run.rotate(vectors, this.#cosines, this.#sines, positions, rows, heads, width / heads / 2, 1);
    }
    const firstPosition = cache.length;
    const from = firstPosition * width;
    cache.keys[layer]?.set(this.#views.keys.subarray(0, rows * width), from);
    cache.values[layer]?.set(this.#views.values.subarray(0, rows * width), from);
    const output = this.#views.mixed;
    attend(cache, {
      layer,
      heads,
      queries: this.#views.queries,
      output,
      rows,
      firstPosition,
      width,
      scores: this.#scores,
    });
    run.multiplyAdd(residual, mixed, block.attention_output, rows, width, width);
  }

  #feedForward(block: BlockWeights, rows: number): void {
    const { width, hidden } = this.config;
    const { run } = this.#kernels;
    const { residual, normed, gate, up } = this.#scratch;
    this.#norm(residual, block.feed_forward_norm, rows);
    run.multiply(gate, normed, block.gate, rows, width, hidden);
    run.multiply(up, normed, block.up, rows, width, hidden);
    run.gated(gate, gate, up, rows * hidden);
    run.multiplyAdd(residual, gate, block.down, rows, hidden, width);
  }

  #norm(input: Address, weights: Address, rows: number): void {
    const { width, normEpsilon } = this.config;
    const { normed, scales } = this.#scratch;
    this.#kernels.run.normalize(normed, scales, input, weights, rows, width, normEpsilon);
  }

  #logits(row: number): Float32Array {
    const { width, outputSize } = this.config;
    const { residual, normed, logits } = this.#scratch;
    this.#norm(residual + 4 * row * width, this.#finalNorm, 1);
    this.#kernels.run.multiply(logits, normed, this.#unembedding, 1, width, outputSize);
    return this.#views.logits;
  }
}

type ScratchName =
  | 'residual'
  | 'normed'
  | 'scales'
  | 'positions'
  | 'queries'
  | 'keys'
  | 'values'
  | 'mixed'
  | 'gate'
  | 'up'
  | 'logits';

/** A matrix of outputs × inputs as inputs × outputs. */
function transposed(kernels: Kernels, matrix: Float32Array, inputs: number): Address {
  const given = kernels.copyFloats(matrix);
  const address = kernels.allocate(matrix.length);
  kernels.run.transpose(address, given, matrix.length / inputs, inputs);
  return address;
}
