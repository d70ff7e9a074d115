import type { AdamParameters, LossSpec, TrainingDatum } from '@agentlightning/core/training-runtime';
import { type ModelCheckpoint, readCheckpoint, writeCheckpoint } from './checkpoint/model-checkpoint.ts';
import type { ModelConfig } from './model/model-config.ts';
import { initialParameters } from './model/parameters.ts';
import { Random } from './random.ts';
import { PreconditionError, RejectedRequestError } from './runtime-errors.ts';
import type { Generation } from './sampling/generation.ts';
import type { SampleRequest } from './sampling/sample-request.ts';
import { Sampler } from './sampling/sampler.ts';
import { type BatchOutcome, ModelTrainer, type OnProgress, type StepOutcome } from './training/model-trainer.ts';
import { initialAdamState } from './training/optimizer.ts';

/** A written checkpoint. */
export interface SavedCheckpoint {
  /** Folder of the checkpoint. */
  readonly path: string;
  /** Its size. */
  readonly sizeBytes: number;
  /** The step at which it was saved. */
  readonly step: number;
  /** The version of the weights. */
  readonly weightVersion: number;
}

/** Resources that engines of a process can share. */
export interface EngineOptions {
  /**
   * Called during training about every 50 ms; training continues when it settles. @default a turn of the event loop
   */
  readonly yieldToSampling?: () => Promise<void>;
}

/**
 * One model that trains and samples in this process. Training operations run sequentially in call order; sampling
 * continues concurrently, with the last published weights.
 *
 * @example
 * ```ts
 * const engine = ModelEngine.random(tinyModelConfig, 7);
 * await engine.forwardBackward(data, { name: 'importance_sampling', parameters: {} });
 * await engine.optimStep({ learningRate: 2e-3 });
 * await engine.publishWeights();
 * ```
 */
export class ModelEngine {
  /** Dimensions of the model. */
  readonly config: ModelConfig;
  readonly #yieldToSampling: EngineOptions['yieldToSampling'];
  readonly #random: Random;
  #parameters: Float32Array;
  #trainer: ModelTrainer;
  #sampler: Sampler;
  #highestVersion: number;
  #lastOperation: Promise<unknown> = Promise.resolve();

  private constructor(checkpoint: ModelCheckpoint, options: EngineOptions = {}) {
    this.config = checkpoint.config;
    this.#yieldToSampling = options.yieldToSampling;
    this.#random = Random.fromState(checkpoint.random);
    this.#parameters = Float32Array.from(checkpoint.parameters);
    this.#trainer = this.#makeTrainer(checkpoint);
    this.#highestVersion = checkpoint.weightVersion;
    this.#sampler = new Sampler({
      config: this.config,
      parameters: this.#parameters,
      version: checkpoint.weightVersion,
      random: this.#random,
    });
  }

  /** A model with random weights; the same seed gives the same weights and, later, the same samples. */
  static random(config: ModelConfig, seed: number, options?: EngineOptions): ModelEngine {
    const random = Random.fromSeed(seed);
    const parameters = initialParameters(config, random);
    const state = { config, parameters, weightVersion: 0, random: random.state, clientState: new Uint8Array() };
    return new ModelEngine(state, options);
  }

  /** A model restored from a checkpoint: weights, optimizer, versions and random state. */
  static fromCheckpoint(checkpoint: ModelCheckpoint, options?: EngineOptions): ModelEngine {
    return new ModelEngine(checkpoint, options);
  }

  /** A new model with the weights of a checkpoint: no steps, weight version 0, random state from the seed. */
  static fromWeights(checkpoint: ModelCheckpoint, seed: number, options?: EngineOptions): ModelEngine {
    const { config, parameters } = checkpoint;
    const random = Random.fromSeed(seed).state;
    const state = { config, parameters, weightVersion: 0, random, clientState: new Uint8Array() };
    return new ModelEngine(state, options);
  }

  /** Optimizer steps taken. */
  get step(): number {
    return this.#trainer.adam.step;
  }

  /** The version of the served weights. */
  get weightVersion(): number {
    return this.#sampler.weightVersion;
  }

  /** Whether gradients are accumulated. */
  get hasPendingGradients(): boolean {
    return this.#trainer.hasPendingGradients;
  }

  /** Number of responses in progress. */
  get activeSamples(): number {
    return this.#sampler.activeCount;
  }

  /** A copy of the trained weights, in the order of `parameterLayout`. */
  parameters(): Float32Array {
    return Float32Array.from(this.#parameters);
  }

  /** A copy of the accumulated gradients, in the order of `parameterLayout`. */
  pendingGradients(): Float32Array {
    return this.#trainer.pendingGradients();
  }

  /** Accumulates a batch's gradients. */
  forwardBackward(data: readonly TrainingDatum[], loss: LossSpec, onProgress?: OnProgress): Promise<BatchOutcome> {
    return this.#inOrder(() => this.#trainer.forwardBackward(data, loss, onProgress));
  }

  /** The log-probabilities of a batch's trained tokens under the trained weights. */
  forward(data: readonly TrainingDatum[], onProgress?: OnProgress): Promise<BatchOutcome> {
    return this.#inOrder(() => this.#trainer.forward(data, onProgress));
  }

  /** Takes a step with the accumulated gradients and clears them; skips it when one is not finite. */
  optimStep(adam: AdamParameters): Promise<StepOutcome> {
    return this.#inOrder(() => this.#trainer.optimStep(adam));
  }

  /** Discards the accumulated gradients. */
  discardGradients(): Promise<void> {
    return this.#inOrder(() => this.#trainer.discardGradients());
  }

  /**
   * Serves the current weights under the next version and returns it: one more than the highest so far, so that it is
   * unique also after an earlier checkpoint was loaded.
   */
  publishWeights(): Promise<number> {
    return this.#inOrder(() => {
      this.#highestVersion += 1;
      this.#sampler.publish(this.#parameters, this.#highestVersion);
      return this.weightVersion;
    });
  }

  /** Starts a response with the served weights. */
  sample(request: SampleRequest): Generation {
    return this.#sampler.sample(request);
  }

  /** Settles when no response is in progress. */
  whenIdle(): Promise<void> {
    return this.#sampler.whenIdle;
  }

  /** Ends all responses in progress with an error of code `CANCELLED`. */
  abortSamples(reason: string): void {
    this.#sampler.abortAll(reason);
  }

  /** Writes the complete state to a file atomically. Rejects while gradients are accumulated. */
  saveCheckpoint(path: string, clientState: Uint8Array): Promise<SavedCheckpoint> {
    return this.#inOrder(async () => {
      if (this.hasPendingGradients) {
        throw new PreconditionError(
          'A checkpoint cannot include accumulated gradients',
          'Take the optimizer step, or discard the gradients, before saving.',
        );
      }
      const { step, weightVersion } = this;
      const sizeBytes = await writeCheckpoint(path, this.#state(clientState));
      return { path, sizeBytes, step, weightVersion };
    });
  }

  /** Restores a checkpoint file of a model of the same shape; returns its client state. */
  loadCheckpoint(path: string): Promise<Uint8Array> {
    return this.#inOrder(async () => {
      const checkpoint = await readCheckpoint(path);
      if (JSON.stringify(checkpoint.config) !== JSON.stringify(this.config)) {
        throw new RejectedRequestError(`Checkpoint ${path} has another model shape`);
      }
      this.#parameters = Float32Array.from(checkpoint.parameters);
      this.#trainer = this.#makeTrainer(checkpoint);
      this.#random.restore(checkpoint.random);
      this.#highestVersion = Math.max(this.#highestVersion, checkpoint.weightVersion);
      this.#sampler.publish(this.#parameters, checkpoint.weightVersion);
      return checkpoint.clientState;
    });
  }

  #state(clientState: Uint8Array): ModelCheckpoint {
    return {
      config: this.config,
      parameters: this.#parameters,
      adam: this.#trainer.adam,
      weightVersion: this.weightVersion,
      random: this.#random.state,
      clientState,
    };
  }

  #makeTrainer(checkpoint: ModelCheckpoint): ModelTrainer {
    return new ModelTrainer({
      config: this.config,
      parameters: this.#parameters,
      adam: checkpoint.adam ?? initialAdamState(this.#parameters.length),
      yieldToSampling: this.#yieldToSampling,
    });
  }

  #inOrder<T>(operation: () => T | Promise<T>): Promise<T> {
    const run = this.#lastOperation.then(operation);
    this.#lastOperation = run.catch(() => {});
    return run;
  }
}
