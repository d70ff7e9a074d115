import type { JsonObject } from '../base/json.ts';
import type { AdamParameters, LossSpec, TrainingBatch } from './training-batch.ts';

/**
 * An optional runtime feature. Requests that need an absent feature are rejected as invalid. Three restrict instead:
 * `lora_only` requires LoRA, `unit_temperature` allows training data of temperature 1 only, and with `on_policy_only` nothing is sampled between a
 * step and the next publication.
 */
export type RuntimeFeature =
  | 'lora'
  | 'value_head'
  | 'reference_logprobs'
  | 'export'
  | 'export_peft'
  | 'metrics'
  | 'progress'
  | 'pause'
  | 'initial_checkpoint'
  | 'weight_digest'
  | 'lora_only'
  | 'unit_temperature'
  | 'on_policy_only'
  | (string & {});

/** Trains two low-rank matrices per frozen one (Hu et al. 2021) instead of all weights. */
export interface LoraConfig {
  /** Rank of the matrices; from 1 to the base model's `maxLoraRank`. */
  readonly rank: number;
  /** Their product is scaled by `alpha / rank`. @default the rank */
  readonly alpha?: number;
  /** Names of the adapted linear layers in the base model. @default all but the head */
  readonly targetModules?: readonly string[];
}

/** Capabilities of a runtime. */
export interface RuntimeCapabilities {
  /** Version of the runtime. */
  readonly runtimeVersion: string;
  /** `cpu`, `cuda:0 NVIDIA H100`. */
  readonly device: string;
  /** Number of accelerators that train a model together. @default 0: the CPU, or not reported */
  readonly deviceCount?: number;
  /** The base models. */
  readonly models: readonly {
    readonly name: string;
    /** In tokens, prompt and response together. */
    readonly maxContext: number;
    readonly vocabSize: number;
    /** SHA-256 of the tokenizer definition, in hexadecimal. Absent: unknown. */
    readonly tokenizerSha256?: string;
    /** SHA-256 of the chat template text, in hexadecimal. Absent: unknown, or no template. */
    readonly chatTemplateSha256?: string;
    /** Maximum LoRA rank. @default 0: no LoRA */
    readonly maxLoraRank?: number;
    /** Number of weights. Absent: unknown. */
    readonly parameterCount?: number;
    /** Names of the layers that support LoRA. @default none reported */
    readonly loraTargetModules?: readonly string[];
    /** Whether it reads images in prompts, and trains on sequences with images. @default false */
    readonly readsImages?: boolean;
    /** Licence of the weights as their publisher names it, such as `apache-2.0`. Absent: unknown. */
    readonly license?: string;
  }[];
  /** The losses with their versions. */
  readonly losses: readonly {
    readonly name: string;
    readonly version: number;
    /** All supported parameters with their defaults. */
    readonly defaults: Readonly<Record<string, number>>;
  }[];
  /** Maximum number of tokens of a batch. */
  readonly maxBatchTokens: number;
  /** Maximum size of a message. */
  readonly maxMessageBytes: number;
  /** Optional features. @default none */
  readonly features?: readonly RuntimeFeature[];
  /** Data type of the computation: `float32`, `bfloat16`. Absent: unknown. */
  readonly dtype?: string;
  /** Maximum number of concurrent models. @default 0: limited by memory */
  readonly maxModels?: number;
}

/** OpenAI-compatible endpoint of a model. */
export interface InferenceEndpoint {
  /** Up to and with `/v1`. */
  readonly baseUrl: string;
  /** The name to send as `model`. */
  readonly model: string;
  /** The policy version that it serves. */
  readonly policyVersion: number;
  /** Identity of the served weights. Absent without the feature `weight_digest`. */
  readonly weights?: PublishedWeights;
}

/** Identity of published weights, and the evidence that the endpoint samples from them. */
export interface PublishedWeights {
  /** `sha256:` and a SHA-256 in hexadecimal. Equal weights of a model have equal digests. */
  readonly digest: string;
  /** Comparison of sampler and trainer after the publication. Absent: not compared. */
  readonly probe?: WeightProbe;
}

/** Comparison of the log-probabilities of sampled probe responses with the trainer's. */
export interface WeightProbe {
  /** Largest mean difference of a response, absolute, in nats per token. */
  readonly logprobGap: number;
  /** Limit of `logprobGap`, derived from the first publication; a larger gap fails the publication. */
  readonly maxLogprobGap: number;
  /** Number of compared tokens. */
  readonly tokens: number;
}

/** State of a model, sufficient for restarting a trainer. */
export interface ModelState {
  /** Id of the model. */
  readonly modelId: string;
  /** Name of the base model. */
  readonly baseModel: string;
  /** Optimizer steps taken. */
  readonly step: number;
  /** Incremented by every publish; the version that the inference endpoint serves. */
  readonly policyVersion: number;
  /** The required sequence number of the next operation. */
  readonly nextSequence: number;
  /** True when accumulated gradients have not been applied. */
  readonly hasPendingGradients: boolean;
  /** True when the state is lost or inconsistent; load a checkpoint before continuing. */
  readonly isCorrupted: boolean;
  /** The LoRA configuration. Absent: all weights are trained. */
  readonly lora?: LoraConfig;
  /** @default false */
  readonly hasValueHead?: boolean;
  /** Number of trainable weights. Absent: unknown. */
  readonly trainableParameterCount?: number;
}

/** Work accepted by the runtime, running or queued; it survives a lost connection. */
export interface PendingOperation<TResult> {
  /** Sequence number within the model. */
  readonly sequence: number;
  /** Settles when the work is done; rejects with a typed error on failure. */
  readonly result: Promise<TResult>;
}

/** Result of a forward-backward pass; sums and means over training tokens. */
export interface BatchResult {
  /** The weighted loss sum. */
  readonly loss: number;
  /** Number of trained tokens. */
  readonly trainedTokens: number;
  /**
   * `policy/kl_sampler`, `policy/clip_fraction`, `policy/logprob_gap`, `policy/entropy` where the runtime knows it, and
   * runtime-specific metrics.
   */
  readonly metrics: Readonly<Record<string, number>>;
}

/** Result of an optimizer step. */
export interface StepResult {
  /** Steps taken so far, this one included. */
  readonly step: number;
  /** Global norm of the gradients before clipping. Absent: the runtime cannot measure it. */
  readonly gradientNorm?: number;
  /** True when the step was skipped because of a non-finite gradient. */
  readonly isSkipped: boolean;
}

/** A saved state of a model. */
export interface Checkpoint {
  /** Opaque identifier for loading the checkpoint. */
  readonly uri: string;
  /** The step at which it was saved. */
  readonly step: number;
  /** The policy version. */
  readonly policyVersion: number;
  /** Its size. */
  readonly sizeBytes: number;
  /** Client state stored with the weights. */
  readonly clientState: JsonObject;
}

/** Options of a new model. */
export interface CreateModelOptions {
  /** One of the models in the capabilities. */
  readonly baseModel: string;
  /** Chosen by the client, which finds the model by it after a restart; `[A-Za-z0-9_-]{1,255}`. */
  readonly modelId: string;
  /** Random seed of the runtime. */
  readonly seed: number;
  /** Trains LoRA on a frozen base; needs the feature `lora`. @default all weights are trained */
  readonly lora?: LoraConfig;
  /** Adds a head with one output per position; needs the feature `value_head`. @default false */
  readonly hasValueHead?: boolean;
  /**
   * URI of a checkpoint of any model of the runtime, with the same base and shape. A new model begins with its weights, which are also
   * its reference weights, and with a new optimizer; an existing model ignores it. Needs the feature `initial_checkpoint`.
   *
   * @default the weights of the base model
   */
  readonly initialCheckpoint?: string;
  /** Expected tokenizer; a runtime with a different known tokenizer is rejected. @default any */
  readonly tokenizerSha256?: string;
  /** Expected chat template; a runtime with a different known template is rejected. @default any */
  readonly chatTemplateSha256?: string;
}

/** Options of scoring a batch. */
export interface ForwardOptions {
  /** Uses the initial weights of the model; needs the feature `reference_logprobs`. @default false */
  readonly useReference?: boolean;
}

/**
 * A model in a training runtime. Operations are numbered and executed strictly in order. A method returns as soon as
 * the runtime has accepted the work, so that `forwardBackward` and `optimStep` can be pipelined.
 */
export interface TrainableModel {
  /** Id of the model. */
  readonly modelId: string;
  /** Reads the state of the model. */
  state(): Promise<ModelState>;
  /** Adds the gradients of a batch to the accumulator. */
  forwardBackward(batch: TrainingBatch, loss: LossSpec): Promise<PendingOperation<BatchResult>>;
  /** Log-probabilities of the training tokens under the current weights, one array per datum. */
  logprobs(batch: TrainingBatch, options?: ForwardOptions): Promise<readonly Float32Array[]>;
  /**
   * Output of the value head at each training token, given the preceding tokens, one array per datum.
   * Only for a model with a value head.
   */
  values(batch: TrainingBatch): Promise<readonly Float32Array[]>;
  /** Applies and clears the accumulated gradients; fails when a batch since the last step failed. */
  optimStep(adam: AdamParameters): Promise<PendingOperation<StepResult>>;
  /** Publishes the current weights to the endpoint as the next policy version. */
  publishWeights(): Promise<PendingOperation<InferenceEndpoint>>;
  /** Saves weights, optimizer state, step and `clientState` under a name, atomically. */
  saveCheckpoint(name: string, clientState: JsonObject): Promise<PendingOperation<Checkpoint>>;
  /** Restores weights, optimizer state, step and policy version from a checkpoint. */
  loadCheckpoint(uri: string): Promise<PendingOperation<Checkpoint>>;
  /** Checkpoints of this model, newest first. */
  listCheckpoints(): Promise<readonly Checkpoint[]>;
  /** Deletes a checkpoint. */
  deleteCheckpoint(uri: string): Promise<void>;
  /** The inference endpoint of the model. */
  endpoint(): Promise<InferenceEndpoint>;
}

/**
 * A training runtime: it holds models, computes gradients and serves the trained models. It is independent of rewards,
 * advantages and algorithms.
 */
export interface TrainingRuntime {
  /** What the runtime can do. */
  capabilities(): Promise<RuntimeCapabilities>;
  /** Creates a model, or returns the existing one with this id. */
  createModel(options: CreateModelOptions): Promise<TrainableModel>;
  /** Closes the session. The runtime's own policy applies to its models. */
  close(): Promise<void>;
}
