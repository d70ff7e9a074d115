import type {
  AdamParameters,
  BatchResult,
  Checkpoint,
  CreateModelOptions,
  ForwardOptions,
  InferenceEndpoint,
  RuntimeCapabilities,
  StepResult,
  TrainingBatch,
} from '@agentlightning/core/training-runtime';

/** What an engine tells of itself; the server adds the limits of the wire. */
export type EngineCapabilities = Omit<RuntimeCapabilities, 'maxMessageBytes'>;

/** A loss whose name and parameters were checked against the capabilities; every parameter is there. */
export interface ResolvedLoss {
  readonly name: string;
  /** Every parameter that the capabilities list for this loss: the client's value, or the default. */
  readonly parameters: Readonly<Record<string, number>>;
}

/** Adam's parameters with every default filled in. */
export type ResolvedAdam = Required<AdamParameters>;

/** A saved state as the engine knows it; what the client stored beside the weights is opaque bytes to it. */
export interface EngineCheckpoint extends Omit<Checkpoint, 'clientState'> {
  /** The name it was saved under. */
  readonly name: string;
  readonly clientState: Uint8Array;
  /** Unix milliseconds. */
  readonly createdAtMs: number;
}

/** What a pass without gradients found, an array for each datum with a number for each trained token. */
export interface ForwardOutput {
  /** At each datum's temperature. */
  readonly logprobs: readonly Float32Array[];
  /** What the value head says where each token is predicted; of a model with a value head. */
  readonly values?: readonly Float32Array[];
}

/** What an engine may tell while it works. */
export interface WorkContext {
  /** Says how many tokens of the batch are done; cheap, may be called often. */
  readonly onProgress: (tokensDone: number) => void;
}

/** In what form weights are exported: the whole model with LoRA merged in, or the LoRA alone as PEFT has it. */
export type ExportFormat = 'safetensors' | 'peft';

/** What is exported in what form. */
export interface ExportOptions {
  /** One of the model's checkpoints. @default the weights as they are */
  readonly uri?: string;
  readonly format: ExportFormat;
}

/** Files that an export wrote; the server reads them when they are downloaded. */
export interface EngineArtifact {
  /** `path` is within the export, with `/`; `file` is where it lies. */
  readonly files: readonly { readonly path: string; readonly file: string }[];
  /** Optimizer steps in the weights. */
  readonly step: number;
  /** Called when nobody can download it any more. */
  readonly discard: () => Promise<void>;
}

/** The part of a model's state that only the engine knows. */
export interface EngineModelState {
  /** Optimizer steps taken. */
  readonly step: number;
  /** What the endpoint serves. */
  readonly policyVersion: number;
  /** True when weights or optimizer state are lost or half-changed, until a checkpoint is loaded. */
  readonly isCorrupted: boolean;
  /** Number of weights that are trained. Absent: not told. */
  readonly trainableParameterCount?: number;
}

/**
 * What happens to requests while sampling is paused. `drain`: those in flight finish, new ones are
 * answered 503 with `Retry-After`. `abort`: those in flight end with an error as well.
 */
export type PauseMode = 'drain' | 'abort';

/** Whether a model answers requests now. */
export interface InferenceState {
  readonly isPaused: boolean;
  /** Requests that are being answered. */
  readonly inFlight: number;
  readonly policyVersion: number;
}

/**
 * One model in an engine. The operations (`forwardBackward` to `loadCheckpoint`) are called one at a time in the whole
 * engine, in the model's order, with data that was validated: lengths fit, intervals are in bounds, ids are in the
 * vocabulary, numbers are finite. The others may be called while an operation runs, but
 * `unload`, which comes last.
 *
 * Throw `AgentLightningError` with code `RUNTIME_REJECTED`, `NOT_FOUND`, `CONFLICT`, `NON_FINITE`,
 * `RESOURCE_EXHAUSTED` or `PRECONDITION_FAILED`; anything else reaches the client as `INTERNAL`.
 */
export interface EngineModel {
  readonly modelId: string;
  readonly baseModel: string;
  readonly seed: number;
  /** Cheap; may be called while anything runs. */
  state(): EngineModelState;
  /**
   * Adds the gradients of the plain weighted loss sum to the accumulator.
   * @throws AgentLightningError NON_FINITE when the loss is not finite
   */
  forwardBackward(batch: TrainingBatch, loss: ResolvedLoss, context: WorkContext): Promise<BatchResult>;
  /**
   * Scores the trained tokens; touches no gradient. `useReference` comes only to engines that have the feature
   * `reference_logprobs`: then with the weights the model began with.
   */
  forward(batch: TrainingBatch, options: ForwardOptions & WorkContext): Promise<ForwardOutput>;
  /** Uses the accumulated gradients and clears them, also when it skips the step as non-finite. */
  optimStep(adam: ResolvedAdam): Promise<StepResult>;
  /** Clears the accumulator without a step: a batch failed, so what is there is not what was meant. */
  discardGradients(): Promise<void>;
  /** Makes the current weights the ones the endpoint serves; their policy version is one more than the highest so far. */
  publishWeights(): Promise<InferenceEndpoint>;
  /** Writes weights, optimizer state, step, policy version and `clientState`, at once or not at all. A name in use is overwritten. */
  saveCheckpoint(name: string, clientState: Uint8Array): Promise<EngineCheckpoint>;
  /**
   * Takes everything from a checkpoint, clears the accumulator, and serves the loaded weights as the
   * checkpoint's policy version. Checkpoints outlive the process.
   * @throws AgentLightningError NOT_FOUND when this model has no such checkpoint
   */
  loadCheckpoint(uri: string): Promise<EngineCheckpoint>;
  /** The saved states of this model id, newest first, those of earlier processes included. */
  listCheckpoints(): Promise<readonly EngineCheckpoint[]>;
  /** @throws AgentLightningError NOT_FOUND when this model has no such checkpoint */
  deleteCheckpoint(uri: string): Promise<void>;
  /** Writes weights for other programs; needed for the features `export` and `export_peft`. */
  exportWeights?(options: ExportOptions): Promise<EngineArtifact>;
  /** Where the model is served. */
  endpoint(): Promise<InferenceEndpoint>;
  /** Stops answering inference requests; resolves when the mode's promise about those in flight holds. */
  pause(mode: PauseMode): Promise<InferenceState>;
  /** Answers inference requests again. */
  resume(): Promise<InferenceState>;
  /** Frees the model's memory. Checkpoints stay. */
  unload(): Promise<void>;
}

/**
 * The arithmetic behind a training runtime. Implement this and {@link serveRuntime} does the rest:
 * sessions, order, resending, validation, cancelling, results.
 */
export interface RuntimeEngine {
  /** Asked once, when the server starts. */
  capabilities(): EngineCapabilities;
  /**
   * Makes a model with fresh weights drawn from the seed. The server never asks twice for a living model id, and asks for
   * LoRA or a value head only when the capabilities have them.
   */
  createModel(options: CreateModelOptions): Promise<EngineModel>;
  /**
   * What there is to measure of the machine: `memory/used_bytes`, `memory/peak_bytes`, `sampling/tokens_per_second`.
   * Asked after every pass and step when the engine has the feature `metrics`. Cheap.
   */
  measurements?(): Readonly<Record<string, number>>;
  /** Called when the server has stopped; ends the inference endpoint and frees everything. */
  close(): Promise<void>;
}
