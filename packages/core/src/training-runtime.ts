import type { JsonObject } from './json.ts';
import type { AdamParameters, LossSpec, TrainingBatch } from './training-batch.ts';

/** Something that not every runtime can do. What needs an absent one is refused as invalid. */
export type RuntimeFeature =
  | 'lora'
  | 'value_head'
  | 'reference_logprobs'
  | 'export'
  | 'export_peft'
  | 'metrics'
  | 'progress'
  | 'pause'
  | (string & {});

/** Trains two thin matrices beside each frozen one (Hu et al. 2021) instead of all weights. */
export interface LoraConfig {
  /** Of the thin matrices; from 1 to the base model's `maxLoraRank`. */
  readonly rank: number;
  /** Their product counts times `alpha / rank`. @default the rank */
  readonly alpha?: number;
  /** The linear layers that get them, as the base model calls them. @default all but the head */
  readonly targetModules?: readonly string[];
}

/** What a runtime can do; asked for first. */
export interface RuntimeCapabilities {
  readonly runtimeVersion: string;
  /** `cpu`, `cuda:0 NVIDIA H100`. */
  readonly device: string;
  readonly models: readonly {
    readonly name: string;
    /** In tokens, prompt and response together. */
    readonly maxContext: number;
    readonly vocabSize: number;
    /** SHA-256 of the tokenizer's definition, in hexadecimal. Absent: not known. */
    readonly tokenizerSha256?: string;
    /** SHA-256 of the chat template's text, in hexadecimal. Absent: not known, or none. */
    readonly chatTemplateSha256?: string;
    /** Largest LoRA rank. @default 0: no LoRA */
    readonly maxLoraRank?: number;
    /** Number of weights. Absent: not told. */
    readonly parameterCount?: number;
    /** Names of the layers that LoRA can be at. @default none told */
    readonly loraTargetModules?: readonly string[];
  }[];
  readonly losses: readonly {
    readonly name: string;
    readonly version: number;
    /** Every parameter it knows, with its default. */
    readonly defaults: Readonly<Record<string, number>>;
  }[];
  readonly maxBatchTokens: number;
  readonly maxMessageBytes: number;
  /** What else it can do. @default nothing */
  readonly features?: readonly RuntimeFeature[];
  /** What the weights are computed in: `float32`, `bfloat16`. Absent: not told. */
  readonly dtype?: string;
  /** Most models at a time. @default 0: as many as fit into memory */
  readonly maxModels?: number;
}

/** Where a model is served, in OpenAI's API. */
export interface InferenceEndpoint {
  /** Up to and with `/v1`. */
  readonly baseUrl: string;
  /** The name to send as `model`. */
  readonly model: string;
  readonly policyVersion: number;
}

/** The state of a model, all that a restarted trainer needs. */
export interface ModelState {
  readonly modelId: string;
  readonly baseModel: string;
  /** Optimizer steps taken. */
  readonly step: number;
  /** Raised by every publish; what the inference endpoint serves. */
  readonly policyVersion: number;
  /** The sequence number the next operation must have. */
  readonly nextSequence: number;
  /** True when gradients are accumulated that no step has used. */
  readonly hasPendingGradients: boolean;
  /** True when the state is lost or half-changed; load a checkpoint before going on. */
  readonly isCorrupted: boolean;
  /** What is trained beside frozen weights. Absent: all weights are trained. */
  readonly lora?: LoraConfig;
  /** @default false */
  readonly hasValueHead?: boolean;
  /** Number of weights that are trained. Absent: not told. */
  readonly trainableParameterCount?: number;
}

/** Work the runtime has accepted: safe from a lost connection, running or waiting in line. */
export interface PendingOperation<TResult> {
  /** Its number in the model's sequence. */
  readonly sequence: number;
  /** Settles when the work is done; rejects with a typed error when it failed. */
  readonly result: Promise<TResult>;
}

/** What a forward-backward pass found; sums and means over trained tokens. */
export interface BatchResult {
  /** The weighted loss sum. */
  readonly loss: number;
  readonly trainedTokens: number;
  /** `policy/entropy`, `policy/kl_sampler`, `policy/clip_fraction`, `policy/logprob_gap` and what the runtime adds. */
  readonly metrics: Readonly<Record<string, number>>;
}

/** What an optimizer step did. */
export interface StepResult {
  /** Steps taken so far, this one included. */
  readonly step: number;
  /** Global norm of the gradients before clipping. */
  readonly gradientNorm: number;
  /** True when a non-finite gradient made the runtime leave the weights alone. */
  readonly isSkipped: boolean;
}

/** A saved state of a model. */
export interface Checkpoint {
  /** An opaque name; give it back to load the checkpoint. */
  readonly uri: string;
  readonly step: number;
  readonly policyVersion: number;
  readonly sizeBytes: number;
  /** What the client stored beside the weights. */
  readonly clientState: JsonObject;
}

/** What a client may choose when it makes a model. */
export interface CreateModelOptions {
  /** One of the capabilities' models. */
  readonly baseModel: string;
  /** Chosen by the client, so that a restarted one finds it again; `[A-Za-z0-9_-]{1,255}`. */
  readonly modelId: string;
  /** Seed of whatever the runtime draws at random. */
  readonly seed: number;
  /** Trains LoRA on a frozen base; needs the feature `lora`. @default all weights are trained */
  readonly lora?: LoraConfig;
  /** Gives the model one number for each position beside the logits; needs the feature `value_head`. @default false */
  readonly hasValueHead?: boolean;
  /** What the tokenizer must be; a runtime that is known to have another is refused. @default any */
  readonly tokenizerSha256?: string;
  /** What the chat template must be; a runtime that is known to have another is refused. @default any */
  readonly chatTemplateSha256?: string;
}

/** How a batch is scored. */
export interface ForwardOptions {
  /** Uses the weights the model began with; needs the feature `reference_logprobs`. @default false */
  readonly useReference?: boolean;
}

/**
 * A model in a training runtime. Operations are numbered and executed strictly in order; a method
 * returns as soon as the runtime has accepted the work, so `forwardBackward` and `optimStep` are
 * sent without waiting for each other.
 */
export interface TrainableModel {
  readonly modelId: string;
  /** Asks the runtime for the model's state. */
  state(): Promise<ModelState>;
  /** Adds the gradients of a batch to the accumulator. */
  forwardBackward(batch: TrainingBatch, loss: LossSpec): Promise<PendingOperation<BatchResult>>;
  /** The log-probabilities of the trained tokens under the current weights, one array for each datum. */
  logprobs(batch: TrainingBatch, options?: ForwardOptions): Promise<readonly Float32Array[]>;
  /**
   * What the value head says at each trained token, of the text before it, one array for each datum.
   * Only of a model with a value head.
   */
  values(batch: TrainingBatch): Promise<readonly Float32Array[]>;
  /** Uses the accumulated gradients and clears them; fails when a batch since the last step failed. */
  optimStep(adam: AdamParameters): Promise<PendingOperation<StepResult>>;
  /** Makes the current weights the ones the endpoint serves, as the next policy version. */
  publishWeights(): Promise<PendingOperation<InferenceEndpoint>>;
  /** Saves weights, optimizer state, step and `clientState` under a name, at once or not at all. */
  saveCheckpoint(name: string, clientState: JsonObject): Promise<PendingOperation<Checkpoint>>;
  /** Takes weights, optimizer state, step and policy version from a checkpoint. */
  loadCheckpoint(uri: string): Promise<PendingOperation<Checkpoint>>;
  /** The saved states of this model, newest first. */
  listCheckpoints(): Promise<readonly Checkpoint[]>;
  deleteCheckpoint(uri: string): Promise<void>;
  /** Where the model is served. */
  endpoint(): Promise<InferenceEndpoint>;
}

/**
 * A training runtime: it holds models, computes gradients and serves what it trained. It knows
 * nothing of rewards, advantages or algorithms.
 */
export interface TrainingRuntime {
  capabilities(): Promise<RuntimeCapabilities>;
  /** Makes a model, or finds the one with this id. */
  createModel(options: CreateModelOptions): Promise<TrainableModel>;
  /** Ends the session. Models are left to the runtime's own rules. */
  close(): Promise<void>;
}
