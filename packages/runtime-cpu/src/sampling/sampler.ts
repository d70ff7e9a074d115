import { setImmediate } from 'node:timers/promises';
import { ContextLengthError } from '@agentlightning/runtime/internal/serving';
import type { ModelConfig } from '../model/model-config.ts';
import type { Random } from '../random.ts';
import { RejectedRequestError } from '../runtime-errors.ts';
import { Decoder } from './decoder.ts';
import { Generation, type ServedWeights } from './generation.ts';
import { PrefixCache } from './prefix-cache.ts';
import type { SampleRequest } from './sample-request.ts';

/** Maximum tokens computed between turns of the event loop: about 8 ms. */
const tokensBetweenYields = 160;

/** Maximum tokens of one cache generation: about 32 MB for two at the tiny size. */
const prefixCacheTokens = 32_768;

/** Options of a sampler. */
export interface SamplerOptions {
  readonly config: ModelConfig;
  readonly parameters: Float32Array;
  /** The weight version of `parameters`. */
  readonly version: number;
  /** Supplies seeds for requests without one. */
  readonly random: Random;
}

/**
 * Serves a model: any number of concurrent responses, each advancing by a token in turn. A request joins at the next
 * turn. A response depends on its prompt, seed and weights only, not on the batch.
 */
export class Sampler {
  readonly #config: ModelConfig;
  readonly #random: Random;
  #served: ServedWeights;
  #active: Generation[] = [];
  #idle: Promise<void> = Promise.resolve();

  constructor(options: SamplerOptions) {
    this.#config = options.config;
    this.#random = options.random;
    this.#served = serve(options.config, options.parameters, options.version);
  }

  /** The weight version of new requests. */
  get weightVersion(): number {
    return this.#served.version;
  }

  /** Number of responses in progress. */
  get activeCount(): number {
    return this.#active.length;
  }

  /** Settles when no response is in progress. */
  get whenIdle(): Promise<void> {
    return this.#idle;
  }

  /** Serves new weights from the next request on; responses in progress keep theirs. */
  publish(parameters: Float32Array, version: number): void {
    this.#served = serve(this.#config, parameters, version);
  }

  /** Starts a response. */
  sample(request: SampleRequest): Generation {
    this.#check(request);
    const seed = request.seed ?? this.#random.nextUint32();
    const generation = new Generation(request, this.#served, seed);
    this.#active.push(generation);
    if (this.#active.length === 1) this.#idle = this.#run();
    return generation;
  }

  /** Ends all responses in progress with an error. */
  abortAll(reason: string): void {
    for (const generation of this.#active) generation.abort(reason);
  }

  async #run(): Promise<void> {
    while (this.#active.length > 0) {
      // A turn of the event loop after every round, so that tokens are sent and requests received one by one.
      await setImmediate();
      let computed = 0;
      for (const generation of [...this.#active]) {
        if (generation.isRunning) computed += generation.step();
        if (computed < tokensBetweenYields) continue;
        computed = 0;
        await setImmediate();
      }
      this.#active = this.#active.filter((generation) => generation.isRunning);
    }
  }

  #check(request: SampleRequest): void {
    const { promptTokens, maxTokens, temperature, topP } = request;
    const { maxContext, vocabularySize } = this.#config;
    if (promptTokens.length === 0) throw new RejectedRequestError('The prompt has no tokens');
    if (promptTokens.length >= maxContext) throw new ContextLengthError(promptTokens.length, maxContext);
    const unknown = promptTokens.find((token) => !Number.isInteger(token) || token < 0 || token >= vocabularySize);
    if (unknown !== undefined) throw new RejectedRequestError(`The prompt contains the unknown token ${unknown}`);
    if (!Number.isInteger(maxTokens) || maxTokens < 1) {
      throw new RejectedRequestError(`max_tokens is ${maxTokens}; it must be an integer of at least 1`);
    }
    if (!(temperature >= 0 && temperature <= 100)) {
      throw new RejectedRequestError(`temperature is ${temperature}; it must lie between 0 and 100`);
    }
    if (!(topP > 0 && topP <= 1)) {
      throw new RejectedRequestError(`top_p is ${topP}; it must be above 0 and at most 1`);
    }
  }
}

function serve(config: ModelConfig, parameters: Float32Array, version: number): ServedWeights {
  return {
    version,
    decoder: new Decoder(config, parameters),
    prefixes: new PrefixCache(prefixCacheTokens),
  };
}
