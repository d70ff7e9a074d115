import type {
  AdamParameters,
  BatchResult,
  Checkpoint,
  CreateModelOptions,
  InferenceEndpoint,
  RuntimeCapabilities,
  StepResult,
  TrainingBatch,
} from '@agentlightning/core';

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

/** The part of a model's state that only the engine knows. */
export interface EngineModelState {
  /** Optimizer steps taken. */
  readonly step: number;
  /** What the endpoint serves. */
  readonly policyVersion: number;
  /** True when weights or optimizer state are lost or half-changed, until a checkpoint is loaded. */
  readonly isCorrupted: boolean;
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
  forwardBackward(batch: TrainingBatch, loss: ResolvedLoss): Promise<BatchResult>;
  /** Log-probabilities of the trained tokens at each datum's temperature; touches no gradient. */
  logprobs(batch: TrainingBatch): Promise<readonly Float32Array[]>;
  /** Uses the accumulated gradients and clears them, also when it skips the step as non-finite. */
  optimStep(adam: ResolvedAdam): Promise<StepResult>;
  /** Clears the accumulator without a step: a batch failed, so what is there is not what was meant. */
  discardGradients(): Promise<void>;
  /** Makes the current weights the ones the endpoint serves; the policy version rises by one. */
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
  /** Makes a model with fresh weights drawn from the seed. The server never asks twice for a living model id. */
  createModel(options: CreateModelOptions): Promise<EngineModel>;
  /** Called when the server has stopped; ends the inference endpoint and frees everything. */
  close(): Promise<void>;
}
