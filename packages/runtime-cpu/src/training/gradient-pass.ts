import { init, type numpy as np, tree } from '@jax-js/jax';
import { accumulate } from '../accumulate.ts';
import type { ModelConfig } from '../model/model-config.ts';
import { parameterLayout, tensorViews } from '../model/parameters.ts';
import { embeddedTokens, parameterArrays, programInput } from './device-arrays.ts';
import type { ScoredTokens } from './gradient-program.ts';
import type { ResolvedLoss } from './loss-spec.ts';
import type { MicroBatch } from './micro-batch.ts';
import { padColumns } from './padded-columns.ts';
import type { ProgramCache } from './program-cache.ts';
import type { ParameterArrays } from './transformer.ts';

/** A micro-batch after the forward pass, rows × outputs each. */
export interface ScoredMicroBatch {
  readonly loss: number;
  readonly logprobs: Float32Array;
  readonly entropies: Float32Array;
  /** Absent for a model without a value head. */
  readonly values?: Float32Array;
}

/** Inputs of a pass. The parameters must not change during it. */
export interface GradientPassOptions {
  readonly config: ModelConfig;
  readonly parameters: Float32Array;
  readonly programs: ProgramCache;
  readonly loss: ResolvedLoss;
}

/** A pass of one batch through the model, micro-batch by micro-batch, with the sum of its gradients. */
export class GradientPass {
  /** In the parameters' order. */
  readonly gradients: Float32Array;
  readonly loss: ResolvedLoss;
  readonly #options: GradientPassOptions;
  readonly #embedding: Float32Array;
  #arrays: ParameterArrays | undefined;

  constructor(options: GradientPassOptions) {
    this.#options = options;
    this.loss = options.loss;
    this.gradients = new Float32Array(options.parameters.length);
    this.#embedding = tensorViews(options.config, options.parameters).embedding as Float32Array;
  }

  /** Accumulates a micro-batch's gradients. */
  async forwardBackward(microBatch: MicroBatch): Promise<ScoredMicroBatch> {
    const { config, programs } = this.#options;
    const context = { config, shape: microBatch.shape };
    const columns = padColumns(microBatch);
    const program = programs.gradient(context, this.loss.name);
    const output = program(
      await this.#parameterArrays(),
      embeddedTokens(this.#embedding, columns.tokens, context),
      programInput(columns, this.loss, context),
    );
    this.#addTokenGradients(columns.tokens, await floats(output.embeddingGradients));
    await this.#addParameterGradients(output.parameterGradients);
    const [loss] = await floats(output.loss);
    return { loss: loss ?? 0, ...(await scoredFloats(output)) };
  }

  /** Scores a micro-batch without gradients. */
  async score(microBatch: MicroBatch): Promise<ScoredMicroBatch> {
    const { config, programs } = this.#options;
    const context = { config, shape: microBatch.shape };
    const columns = padColumns(microBatch);
    const output = programs.score(context)(
      await this.#parameterArrays(),
      embeddedTokens(this.#embedding, columns.tokens, context),
      programInput(columns, this.loss, context),
    );
    return { loss: 0, ...(await scoredFloats(output)) };
  }

  /** Frees the jax-js arrays of the pass. */
  dispose(): void {
    tree.dispose(this.#arrays);
    this.#arrays = undefined;
  }

  async #parameterArrays(): Promise<ParameterArrays> {
    if (this.#arrays === undefined) {
      await init('wasm');
      this.#arrays = parameterArrays(this.#options.config, this.#options.parameters);
    }
    return tree.ref(this.#arrays);
  }

  #addTokenGradients(tokens: Int32Array, gradients: Float32Array): void {
    const { width } = this.#options.config;
    // The embedding is first in the layout.
    for (const [index, token] of tokens.entries()) {
      const row = this.gradients.subarray(token * width, (token + 1) * width);
      accumulate(row, gradients.subarray(index * width, (index + 1) * width));
    }
  }

  async #addParameterGradients(arrays: ParameterArrays): Promise<void> {
    for (const { name, offset, size } of parameterLayout(this.#options.config).tensors) {
      const array = arrays[name];
      if (array === undefined) continue;
      accumulate(this.gradients.subarray(offset, offset + size), await floats(array));
    }
  }
}

async function scoredFloats({ logprobs, entropies, values }: ScoredTokens): Promise<Omit<ScoredMicroBatch, 'loss'>> {
  return {
    logprobs: await floats(logprobs),
    entropies: await floats(entropies),
    ...(values && { values: await floats(values) }),
  };
}

/** Reads and releases an array. All arrays here are float32. */
async function floats(array: np.Array): Promise<Float32Array> {
  return (await array.data()) as Float32Array;
}
