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

/** Capabilities of an engine; the server adds the protocol limits. */
export type EngineCapabilities = Omit<RuntimeCapabilities, 'maxMessageBytes'>;

/** A loss validated against the capabilities, with every parameter. */
export interface ResolvedLoss {
  /** Name of the loss. */
  readonly name: string;
  /** Every parameter listed in the capabilities: the client's value or the default. */
  readonly parameters: Readonly<Record<string, number>>;
}

/** Adam's parameters with all defaults filled in. */
export type ResolvedAdam = Required<AdamParameters>;

/** A checkpoint as known to the engine; the client state is opaque bytes. */
export interface EngineCheckpoint extends Omit<Checkpoint, 'clientState'> {
  /** The name of the checkpoint. */
  readonly name: string;
  /** The client's state, as opaque bytes. */
  readonly clientState: Uint8Array;
  /** Unix milliseconds. */
  readonly createdAtMs: number;
}

/** The result of a pass without gradients: an array for each datum with a number for each trained token. */
export interface ForwardOutput {
  /** At each datum's temperature. */
  readonly logprobs: readonly Float32Array[];
  /** Output of the value head where each token is predicted; only with a value head. */
  readonly values?: readonly Float32Array[];
}

/** Callbacks of an engine. */
export interface WorkContext {
  /** Reports the number of completed tokens of the batch; fast, may be called often. */
  readonly onProgress: (tokensDone: number) => void;
}

/** Export format: the whole model with LoRA merged, or the LoRA alone in the format of PEFT. */
export type ExportFormat = 'safetensors' | 'peft';

/** Options of an export. */
export interface ExportOptions {
  /** A checkpoint of the model. @default the current weights */
  readonly uri?: string;
  /** Format of the weights. */
  readonly format: ExportFormat;
}

/** Files of an export; the server reads them on download. */
export interface EngineArtifact {
  /** `path` is within the export, with `/`; `file` is the local path. */
  readonly files: readonly { readonly path: string; readonly file: string }[];
  /** Optimizer steps in the weights. */
  readonly step: number;
  /** Called when it can no longer be downloaded. */
  readonly discard: () => Promise<void>;
}

/** The part of a model's state that the engine owns. */
export interface EngineModelState {
  /** Optimizer steps taken. */
  readonly step: number;
  /** Policy version of the endpoint. */
  readonly policyVersion: number;
  /** True when weights or optimizer state are corrupted, until a checkpoint is loaded. */
  readonly isCorrupted: boolean;
  /** Number of trained weights. Absent: unknown. */
  readonly trainableParameterCount?: number;
}

/**
 * Treatment of requests while sampling is paused. `drain`: those in flight finish, new ones get 503 with `Retry-After`.
 * `abort`: those in flight end with an error as well.
 */
export type PauseMode = 'drain' | 'abort';

/** Whether a model accepts requests. */
export interface InferenceState {
  /** Whether inference is paused. */
  readonly isPaused: boolean;
  /** Number of requests in flight. */
  readonly inFlight: number;
  /** The policy version that is served. */
  readonly policyVersion: number;
}

/**
 * One model in an engine. The operations (`forwardBackward` to `loadCheckpoint`) are called one at a time per engine,
 * in the model's order, with validated data: lengths match, intervals are in bounds, ids are in the vocabulary, numbers
 * are finite. The other methods may be called during an operation, except `unload`, which is last.
 *
 * Throw `AgentLightningError` with code `RUNTIME_REJECTED`, `NOT_FOUND`, `CONFLICT`, `NON_FINITE`,
 * `RESOURCE_EXHAUSTED` or `PRECONDITION_FAILED`; anything else reaches the client as `INTERNAL`.
 */
export interface EngineModel {
  /** Id of the model. */
  readonly modelId: string;
  /** Name of the base model. */
  readonly baseModel: string;
  /** Seed of the random draws. */
  readonly seed: number;
  /** Must be fast; called at any time. */
  state(): EngineModelState;
  /**
   * Adds the gradients of the plain weighted loss sum to the accumulator.
   * @throws AgentLightningError NON_FINITE when the loss is not finite
   */
  forwardBackward(batch: TrainingBatch, loss: ResolvedLoss, context: WorkContext): Promise<BatchResult>;
  /**
   * Scores the trained tokens; does not change gradients. `useReference` requires the feature `reference_logprobs` and
   * selects the initial weights.
   */
  forward(batch: TrainingBatch, options: ForwardOptions & WorkContext): Promise<ForwardOutput>;
  /** Applies and clears the accumulated gradients; also clears them when the step is skipped as non-finite. */
  optimStep(adam: ResolvedAdam): Promise<StepResult>;
  /** Clears the accumulator without a step: after a failed batch its contents are incomplete. */
  discardGradients(): Promise<void>;
  /** Serves the current weights at the endpoint; their policy version is one more than the highest so far. */
  publishWeights(): Promise<InferenceEndpoint>;
  /**
   * Writes weights, optimizer state, step, policy version and `clientState` atomically. Overwrites a checkpoint of the
   * same name.
   */
  saveCheckpoint(name: string, clientState: Uint8Array): Promise<EngineCheckpoint>;
  /**
   * Restores a checkpoint, clears the accumulator, and serves the loaded weights as the checkpoint's policy version.
   * Checkpoints outlive the process.
   * @throws AgentLightningError NOT_FOUND when this model has no such checkpoint
   */
  loadCheckpoint(uri: string): Promise<EngineCheckpoint>;
  /** The checkpoints of this model id, newest first, including those of earlier processes. */
  listCheckpoints(): Promise<readonly EngineCheckpoint[]>;
  /** Deletes a checkpoint. @throws AgentLightningError NOT_FOUND when this model has no such checkpoint */
  deleteCheckpoint(uri: string): Promise<void>;
  /** Exports weights for other programs; required for the features `export` and `export_peft`. */
  exportWeights?(options: ExportOptions): Promise<EngineArtifact>;
  /** The endpoint that serves the model. */
  endpoint(): Promise<InferenceEndpoint>;
  /** Rejects new inference requests; resolves when the mode's guarantee for requests in flight holds. */
  pause(mode: PauseMode): Promise<InferenceState>;
  /** Accepts inference requests again. */
  resume(): Promise<InferenceState>;
  /** Frees the model's memory. Checkpoints stay. */
  unload(): Promise<void>;
}

/**
 * The training engine of a runtime. {@link serveRuntime} adds the protocol: sessions, sequence, retries, validation,
 * cancellation, results.
 */
export interface RuntimeEngine {
  /** Called once, when the server starts. */
  capabilities(): EngineCapabilities;
  /**
   * Creates a model with weights initialised from the seed, or with those of `initialCheckpoint`. Called once per loaded
   * model id; LoRA, a value head or an initial checkpoint is requested only when the capabilities include it.
   * @throws AgentLightningError NOT_FOUND without the initial checkpoint, RUNTIME_REJECTED when it is of another base or shape
   */
  createModel(options: CreateModelOptions): Promise<EngineModel>;
  /**
   * Metrics of the machine: `memory/used_bytes`, `memory/peak_bytes`, `sampling/tokens_per_second`. Called after every
   * pass and step when the engine has the feature `metrics`; must be fast.
   */
  measurements?(): Readonly<Record<string, number>>;
  /** Called after the server has stopped; ends the inference endpoint and frees all resources. */
  close(): Promise<void>;
}
