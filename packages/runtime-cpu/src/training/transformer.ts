import type { Address, Kernels } from '../model/kernels.ts';
import type { ModelConfig } from '../model/model-config.ts';
import { parameterLayout } from '../model/parameters.ts';
import { rotaryTable } from '../model/rotary.ts';
import type { MicroBatch } from './micro-batch.ts';

/** What the model says of the trained tokens of a micro-batch, member by member. */
export interface TokenScores {
  /** Natural logarithms, at the temperature of the example. */
  readonly logprobs: Float32Array;
  /** In nats. */
  readonly entropies: Float32Array;
  /** The outputs of the value head before the tokens; null without one. */
  readonly values: Float32Array | null;
}

/** The derivatives of a loss by {@link TokenScores}, in their order. */
export interface ScoreSlopes {
  readonly logprobs: Float32Array;
  readonly entropies: Float32Array;
  readonly values: Float32Array;
}

/** What the backward pass of a block needs of its forward pass. Rows are tokens. */
interface BlockRecord {
  readonly input: Address;
  readonly attentionScales: Address;
  readonly attentionNormed: Address;
  readonly queries: Address;
  readonly keys: Address;
  readonly values: Address;
  readonly weights: Address;
  readonly mixed: Address;
  readonly middle: Address;
  readonly feedForwardScales: Address;
  readonly feedForwardNormed: Address;
  readonly gate: Address;
  readonly up: Address;
  readonly gated: Address;
}

/** The forward pass of a micro-batch, with what the backward pass needs. */
export interface ForwardPass {
  readonly scores: TokenScores;
  readonly tokens: Address;
  readonly depths: Address;
  readonly count: number;
  readonly path: Address;
  readonly greatestDepth: number;
  readonly blocks: readonly BlockRecord[];
  readonly output: Address;
  readonly finalScales: Address;
  readonly contexts: Address;
  readonly wanted: Address;
  readonly outputs: number;
  /** Log-probabilities of all tokens, outputs × output size. */
  readonly logprobs: Address;
  readonly targets: Address;
  readonly temperatures: Address;
  readonly entropies: Address;
}

/**
 * A transformer like Llama on the kernels, forward and backward, with weights that do not change. Passes are not freed: the caller
 * releases the memory after each micro-batch.
 */
export class Transformer {
  readonly #config: ModelConfig;
  readonly #kernels: Kernels;
  readonly #size: number;
  readonly #offsets: ReadonlyMap<string, number>;
  readonly #parameters: Address;
  readonly #gradients: Address;
  /** Matrices as inputs × outputs, by name. */
  readonly #transposed: ReadonlyMap<string, Address>;
  readonly #cosines: Address;
  readonly #sines: Address;

  /** Copies the parameters. */
  constructor(config: ModelConfig, parameters: Float32Array, kernels: Kernels) {
    const { tensors, size } = parameterLayout(config);
    this.#config = config;
    this.#kernels = kernels;
    this.#size = size;
    this.#offsets = new Map(tensors.map(({ name, offset }) => [name, offset]));
    this.#parameters = kernels.copyFloats(parameters);
    this.#gradients = kernels.zeros(size);
    const matrices = tensors.filter(({ name, shape }) => shape.length === 2 && !/embedding|value_head/.test(name));
    const unembedding = { name: this.#unembeddingName, shape: [config.outputSize, config.width] };
    this.#transposed = new Map(
      [...matrices, unembedding].map(({ name, shape: [rows = 0, columns = 0] }) => {
        const address = kernels.allocate(rows * columns);
        kernels.run.transpose(address, this.#weight(name), rows, columns);
        return [name, address];
      }),
    );
    const positions = Array.from({ length: config.maxContext }, (_, position) => position);
    const { cosines, sines } = rotaryTable(config, positions);
    this.#cosines = kernels.copyFloats(cosines);
    this.#sines = kernels.copyFloats(sines);
  }

  /** The sum of the gradients so far, in the order of the parameters. */
  gradients(): Float32Array {
    return Float32Array.from(this.#kernels.floats(this.#gradients, this.#size));
  }

  forward(batch: MicroBatch): ForwardPass {
    const { width, maxContext } = this.#config;
    const kernels = this.#kernels;
    const { run } = kernels;
    const count = batch.tokens.length;
    const tokens = kernels.copyIntegers(batch.tokens);
    const depths = kernels.copyIntegers(batch.depths);
    const path = kernels.allocate(maxContext);
    const blocks: BlockRecord[] = [];
    let residual = kernels.allocate(count * width);
    run.gather(residual, this.#weight('embedding'), tokens, count, width);
    const weightCount = batch.depths.reduce((sum, depth) => sum + depth + 1, 0) * this.#config.heads;
    for (let layer = 0; layer < this.#config.layers; layer++) {
      const block = this.#block(layer, residual, { depths, count, path, weightCount });
      blocks.push(block.record);
      residual = block.output;
    }
    const finalScales = kernels.allocate(count);
    const normed = kernels.allocate(count * width);
    run.normalize(normed, finalScales, residual, this.#weight('final_norm'), count, width, this.#config.normEpsilon);
    const greatestDepth = batch.depths.reduce((greatest, depth) => Math.max(greatest, depth), 0);
    const shared = { tokens, depths, count, path, greatestDepth, blocks, output: residual, finalScales };
    return { ...shared, ...this.#outputs(batch, normed) };
  }

  #block(
    layer: number,
    input: Address,
    { depths, count, path, weightCount }: { depths: Address; count: number; path: Address; weightCount: number },
  ): { readonly record: BlockRecord; readonly output: Address } {
    const { width, hidden, heads, normEpsilon } = this.#config;
    const kernels = this.#kernels;
    const { run } = kernels;
    const weight = (name: string): Address => this.#weight(`block_${layer}.${name}`);
    const transposed = (name: string): Address => this.#transposed.get(`block_${layer}.${name}`) ?? 0;
    const product = (x: Address, name: string, inner: number, columns: number): Address => {
      const out = kernels.allocate(count * columns);
      run.multiply(out, x, transposed(name), count, inner, columns);
      return out;
    };
    const addedProduct = (residual: Address, x: Address, name: string, inner: number): Address => {
      const out = kernels.allocate(count * width);
      kernels.floats(out, count * width).set(kernels.floats(residual, count * width));
      run.multiplyAdd(out, x, transposed(name), count, inner, width);
      return out;
    };
    const normed = (x: Address, name: string): readonly [Address, Address] => {
      const scales = kernels.allocate(count);
      const out = kernels.allocate(count * width);
      run.normalize(out, scales, x, weight(name), count, width, normEpsilon);
      return [out, scales];
    };
    const [attentionNormed, attentionScales] = normed(input, 'attention_norm');
    const [queries, keys, values] = ['query', 'key', 'value'].map((name) =>
      product(attentionNormed, name, width, width),
    ) as [Address, Address, Address];
    for (const vectors of [queries, keys]) this.#rotate(vectors, depths, count, 1);
    const weights = kernels.allocate(weightCount);
    const mixed = kernels.allocate(count * width);
    run.attend(mixed, weights, queries, keys, values, depths, path, count, width, heads);
    const middle = addedProduct(input, mixed, 'attention_output', width);
    const [feedForwardNormed, feedForwardScales] = normed(middle, 'feed_forward_norm');
    const gate = product(feedForwardNormed, 'gate', width, hidden);
    const up = product(feedForwardNormed, 'up', width, hidden);
    const gated = kernels.allocate(count * hidden);
    run.gated(gated, gate, up, count * hidden);
    const output = addedProduct(middle, gated, 'down', hidden);
    const attention = { input, attentionScales, attentionNormed, queries, keys, values, weights, mixed };
    const feedForward = { middle, feedForwardScales, feedForwardNormed, gate, up, gated };
    return { record: { ...attention, ...feedForward }, output };
  }

  #rotate(vectors: Address, depths: Address, count: number, sign: 1 | -1): void {
    const { width, heads } = this.#config;
    this.#kernels.run.rotate(vectors, this.#cosines, this.#sines, depths, count, heads, width / heads / 2, sign);
  }

  #outputs(
    { members }: MicroBatch,
    normed: Address,
  ): Omit<ForwardPass, 'tokens' | 'depths' | 'count' | 'path' | 'greatestDepth' | 'blocks' | 'output' | 'finalScales'> {
    const { width, outputSize, hasValueHead } = this.#config;
    const kernels = this.#kernels;
    const contexts = kernels.copyIntegers(members.flatMap((member) => member.contexts));
    const targets = kernels.copyIntegers(
      members.flatMap(({ example: { datum, trainedPositions } }) =>
        trainedPositions.map((position) => datum.tokenIds[position] ?? 0),
      ),
    );
    const temperatures = kernels.copyFloats(
      members.flatMap(({ example: { datum }, contexts: { length } }) => Array<number>(length).fill(datum.temperature)),
    );
    const outputs = members.reduce((sum, member) => sum + member.contexts.length, 0);
    const wanted = kernels.allocate(outputs * width);
    kernels.run.gather(wanted, normed, contexts, outputs, width);
    const logprobs = kernels.allocate(outputs * outputSize);
    const unembedding = this.#transposed.get(this.#unembeddingName) ?? 0;
    kernels.run.multiply(logprobs, wanted, unembedding, outputs, width, outputSize);
    const chosen = kernels.allocate(outputs);
    const entropies = kernels.allocate(outputs);
    kernels.run.scoreTargets(logprobs, targets, temperatures, chosen, entropies, outputs, outputSize);
    const scores = {
      logprobs: Float32Array.from(kernels.floats(chosen, outputs)),
      entropies: Float32Array.from(kernels.floats(entropies, outputs)),
      values: hasValueHead ? this.#values(wanted, outputs) : null,
    };
    return { scores, contexts, wanted, outputs, logprobs, targets, temperatures, entropies };
  }

  #values(wanted: Address, outputs: number): Float32Array {
    const { width } = this.#config;
    const head = this.#kernels.floats(this.#weight('value_head'), width);
    const [bias = 0] = this.#kernels.floats(this.#weight('value_bias'), 1);
    const rows = this.#kernels.floats(wanted, outputs * width);
    return Float32Array.from({ length: outputs }, (_, output) =>
      head.reduce((sum, weight, i) => sum + weight * (rows[output * width + i] ?? 0), bias),
    );
  }

  /** Adds the gradients of a loss with these derivatives. */
  backward(pass: ForwardPass, slopes: ScoreSlopes): void {
    const { width } = this.#config;
    const kernels = this.#kernels;
    const { run } = kernels;
    const { count } = pass;
    const normedGradients = kernels.zeros(count * width);
    run.scatterAdd(normedGradients, this.#outputGradients(pass, slopes), pass.contexts, pass.outputs, width);
    const gradients = kernels.zeros(count * width);
    const ofNorm = [this.#gradient('final_norm'), normedGradients, pass.output, this.#weight('final_norm')] as const;
    run.normalizeBackward(gradients, ...ofNorm, pass.finalScales, count, width);
    for (const [layer, record] of [...pass.blocks.entries()].reverse()) {
      const mark = kernels.mark;
      this.#blockBackward(layer, record, { pass, gradients });
      kernels.release(mark);
    }
    run.scatterAdd(this.#gradient('embedding'), gradients, pass.tokens, count, width);
  }

  /** The gradients by the wanted rows. */
  #outputGradients(pass: ForwardPass, slopes: ScoreSlopes): Address {
    const { width, outputSize, hasValueHead } = this.#config;
    const kernels = this.#kernels;
    const { outputs, logprobs, targets, temperatures, entropies, wanted } = pass;
    const ofLogprobs = kernels.copyFloats(slopes.logprobs);
    const ofEntropies = kernels.copyFloats(slopes.entropies);
    const scored = [logprobs, targets, temperatures, entropies] as const;
    kernels.run.scoreTargetsBackward(...scored, ofLogprobs, ofEntropies, outputs, outputSize);
    const name = this.#unembeddingName;
    const gradients = kernels.allocate(outputs * width);
    kernels.run.multiply(gradients, logprobs, this.#weight(name), outputs, outputSize, width);
    kernels.run.multiplyTransposedAdd(this.#gradient(name), logprobs, wanted, outputs, outputSize, width);
    if (hasValueHead) this.#valueGradients(gradients, wanted, slopes.values);
    return gradients;
  }

  #valueGradients(gradients: Address, wanted: Address, slopes: Float32Array): void {
    const { width } = this.#config;
    const kernels = this.#kernels;
    const head = kernels.floats(this.#weight('value_head'), width);
    const ofHead = kernels.floats(this.#gradient('value_head'), width);
    const ofBias = kernels.floats(this.#gradient('value_bias'), 1);
    const rows = kernels.floats(wanted, slopes.length * width);
    const ofRows = kernels.floats(gradients, slopes.length * width);
    for (const [output, slope] of slopes.entries()) {
      for (let i = 0; i < width; i++) {
        const at = output * width + i;
        ofRows[at] = (ofRows[at] ?? 0) + slope * (head[i] ?? 0);
        ofHead[i] = (ofHead[i] ?? 0) + slope * (rows[at] ?? 0);
      }
      ofBias[0] = (ofBias[0] ?? 0) + slope;
    }
  }

  /** Turns the gradients by a block's output into those by its input. */
  #blockBackward(
    layer: number,
    record: BlockRecord,
    { pass, gradients }: { readonly pass: ForwardPass; readonly gradients: Address },
  ): void {
    const { width, hidden, heads } = this.#config;
    const kernels = this.#kernels;
    const { run } = kernels;
    const { count, depths, path } = pass;
    const weight = (name: string): Address => this.#weight(`block_${layer}.${name}`);
    const gradient = (name: string): Address => this.#gradient(`block_${layer}.${name}`);
    /** Adds the gradients of `output = input · weightsᵀ`. */
    const productBackward = (name: string, given: Address, { input, into, inner, columns }: ProductGradients): void => {
      run.multiplyAdd(into, given, weight(name), count, columns, inner);
      run.multiplyTransposedAdd(gradient(name), given, input, count, columns, inner);
    };
    const gatedGradients = kernels.zeros(count * hidden);
    productBackward('down', gradients, { input: record.gated, into: gatedGradients, inner: hidden, columns: width });
    run.gatedBackward(record.gate, record.up, gatedGradients, count * hidden);
    const normedGradients = kernels.zeros(count * width);
    const widened = { input: record.feedForwardNormed, into: normedGradients, inner: width, columns: hidden };
    productBackward('gate', record.gate, widened);
    productBackward('up', record.up, widened);
    const ofNorm = [
      gradient('feed_forward_norm'),
      normedGradients,
      record.middle,
      weight('feed_forward_norm'),
    ] as const;
    run.normalizeBackward(gradients, ...ofNorm, record.feedForwardScales, count, width);

    const [mixed, queries, keys, values] = [0, 0, 0, 0].map(() => kernels.zeros(count * width)) as [
      Address,
      Address,
      Address,
      Address,
    ];
    const square = { inner: width, columns: width };
    productBackward('attention_output', gradients, { input: record.mixed, into: mixed, ...square });
    const scratch = kernels.allocate(pass.greatestDepth + 1);
    const recorded = [record.weights, record.queries, record.keys, record.values] as const;
    run.attendBackward(queries, keys, values, mixed, ...recorded, depths, path, scratch, count, width, heads);
    for (const vectors of [queries, keys]) this.#rotate(vectors, depths, count, -1);
    kernels.floats(normedGradients, count * width).fill(0);
    const projected = { input: record.attentionNormed, into: normedGradients, ...square };
    productBackward('query', queries, projected);
    productBackward('key', keys, projected);
    productBackward('value', values, projected);
    const ofFirst = [gradient('attention_norm'), normedGradients, record.input, weight('attention_norm')] as const;
    run.normalizeBackward(gradients, ...ofFirst, record.attentionScales, count, width);
  }

  get #unembeddingName(): string {
    return this.#config.isTied ? 'embedding' : 'unembedding';
  }

  #weight(name: string): Address {
    return this.#parameters + 4 * (this.#offsets.get(name) ?? 0);
  }

  #gradient(name: string): Address {
    return this.#gradients + 4 * (this.#offsets.get(name) ?? 0);
  }
}

/** The gradients of a product by its input go `into` one array, which has `inner` columns; the product has `columns`. */
interface ProductGradients {
  readonly input: Address;
  readonly into: Address;
  readonly inner: number;
  readonly columns: number;
}
