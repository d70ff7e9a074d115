import type { JsonObject } from '@agentlightning/core';
import type {
  AdamParameters,
  BatchResult,
  Checkpoint,
  ForwardOptions,
  InferenceEndpoint,
  LossSpec,
  ModelState,
  PendingOperation,
  StepResult,
  TrainableModel,
  TrainingBatch,
} from '@agentlightning/core/training-runtime';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import type { OperationKeySchema } from '../gen/agentlightning/runtime/v1/batch_pb.ts';
import { BatchKind } from '../gen/agentlightning/runtime/v1/batch_pb.ts';
import { ErrorReason } from '../gen/agentlightning/runtime/v1/error_pb.ts';
import { ExportFormat } from '../gen/agentlightning/runtime/v1/export_pb.ts';
import { PauseMode } from '../gen/agentlightning/runtime/v1/inference_pb.ts';
import type { ModelInfo, InferenceEndpoint as WireEndpoint } from '../gen/agentlightning/runtime/v1/model_pb.ts';
import { InferenceEndpointSchema, ModelInfoSchema } from '../gen/agentlightning/runtime/v1/model_pb.ts';
import type { Operation } from '../gen/agentlightning/runtime/v1/operation_pb.ts';
import { BatchOutputKind, type SubmitBatchResponse } from '../gen/agentlightning/runtime/v1/training_pb.ts';
import { RuntimeError } from '../runtime-error.ts';
import { maxClientStateBytes } from '../runtime-limits.ts';
import type { ExportOptions, InferenceState, PauseMode as PauseModeName } from '../server/engine.ts';
import type { EncodedBatch } from '../wire/batch.ts';
import { encodeBatch, trainedTokenCount } from '../wire/batch.ts';
import { decodeCheckpoint, encodeClientState } from '../wire/checkpoint.ts';
import { unpackFloat32 } from '../wire/packed-array.ts';
import { toPublishedWeights } from '../wire/published-weights.ts';
import { decodeArtifact, downloadArtifact, type ExportedArtifact } from './download-artifact.ts';
import type { OperationWatcher } from './operation-watcher.ts';
import { type RuntimeLink, untimed } from './runtime-link.ts';
import { SendWindow } from './send-window.ts';
import type { BatchUpload } from './upload-batch.ts';
import { uploadBatch } from './upload-batch.ts';

/** A model in a runtime, with the features of the contract beyond {@link TrainableModel}. */
export interface RuntimeModel extends TrainableModel {
  /**
   * Cancels a waiting operation.
   * @throws RuntimeError PRECONDITION_FAILED when it is running or has ended
   */
  cancel(sequence: number): Promise<void>;
  /**
   * Exports weights for other programs; needs the feature `export` or `export_peft`. The result can be downloaded for
   * as long as the runtime keeps results.
   */
  exportCheckpoint(options: ExportOptions): Promise<PendingOperation<ExportedArtifact>>;
  /**
   * Downloads the files of an export to a folder and verifies their SHA-256.
   * @returns the paths written
   */
  downloadArtifact(artifact: ExportedArtifact, directory: string): Promise<readonly string[]>;
  /** Rejects new inference requests. */
  pause(mode: PauseModeName): Promise<InferenceState>;
  /** Accepts inference requests again. */
  resume(): Promise<InferenceState>;
  /** Frees the model in the runtime; its checkpoints stay. This object is unusable afterwards. */
  unload(): Promise<void>;
}

type Key = MessageInitShape<typeof OperationKeySchema>;

/** Content errors: the operation used its number and failed; the next continues after it. */
const contentReasons: ReadonlySet<ErrorReason> = new Set([ErrorReason.INVALID, ErrorReason.TOO_LARGE]);

/** {@link RuntimeModel} over gRPC. Operations are numbered in the order of the calls. */
export class GrpcModel implements RuntimeModel {
  readonly modelId: string;
  readonly #link: RuntimeLink;
  readonly #watcher: OperationWatcher;
  readonly #window: SendWindow;
  #nextSeq: number;
  /** Batches since the last step; the next step requires them. */
  #gradientSeqs: number[] = [];

  constructor(link: RuntimeLink, watcher: OperationWatcher, start: { modelId: string; nextSeq: number }) {
    this.modelId = start.modelId;
    this.#link = link;
    this.#watcher = watcher;
    this.#window = new SendWindow(link.reorderWindow);
    this.#nextSeq = start.nextSeq;
  }

  /** True until the runtime is lost or another session owns the model. */
  get isUsable(): boolean {
    return this.#watcher.failure === undefined;
  }

  async state(): Promise<ModelState> {
    const { training, policy } = this.#link;
    const { model } = await policy.run(() => training.getModel({ modelId: this.modelId }));
    return toModelState(model ?? create(ModelInfoSchema, { modelId: this.modelId }));
  }

  async forwardBackward(batch: TrainingBatch, loss: LossSpec): Promise<PendingOperation<BatchResult>> {
    const content = { batch: encodeBatch(batch), loss, useReference: false };
    this.#gradientSeqs.push(this.#nextSeq);
    return this.#submitBatch(content);
  }

  logprobs(batch: TrainingBatch, options: ForwardOptions = {}): Promise<readonly Float32Array[]> {
    return this.#score(batch, { ...options, kind: BatchOutputKind.LOGPROBS });
  }

  values(batch: TrainingBatch): Promise<readonly Float32Array[]> {
    return this.#score(batch, { kind: BatchOutputKind.VALUES });
  }

  async optimStep(adam: AdamParameters): Promise<PendingOperation<StepResult>> {
    const requiresSeqs = this.#gradientSeqs;
    this.#gradientSeqs = [];
    const { training } = this.#link;
    return this.#submit(
      (key) => training.optimStep({ key, adam: { ...adam }, requiresSeqs }),
      (operation) => {
        const { step, gradientNorm, isSkipped, isGradientNormUnknown } = outcome(operation, 'optimStep');
        return { step, isSkipped, ...(isGradientNormUnknown ? {} : { gradientNorm }) };
      },
    );
  }

  async publishWeights(): Promise<PendingOperation<InferenceEndpoint>> {
    const { training } = this.#link;
    return this.#submit(
      (key) => training.publishSamplerWeights({ key }),
      (operation) => toEndpoint(outcome(operation, 'endpoint')),
    );
  }

  async saveCheckpoint(name: string, clientState: JsonObject): Promise<PendingOperation<Checkpoint>> {
    const bytes = encodeClientState(clientState);
    assertStateFits(bytes);
    const { training } = this.#link;
    return this.#submit(
      (key) => training.saveCheckpoint({ key, name, clientState: bytes }),
      (operation) => decodeCheckpoint(outcome(operation, 'checkpoint')),
    );
  }

  async loadCheckpoint(uri: string): Promise<PendingOperation<Checkpoint>> {
    this.#gradientSeqs = [];
    const { training } = this.#link;
    return this.#submit(
      (key) => training.loadCheckpoint({ key, uri }),
      (operation) => decodeCheckpoint(outcome(operation, 'checkpoint')),
    );
  }

  async exportCheckpoint({ uri = '', format }: ExportOptions): Promise<PendingOperation<ExportedArtifact>> {
    const { training } = this.#link;
    const wireFormat = format === 'peft' ? ExportFormat.PEFT : ExportFormat.SAFETENSORS;
    return this.#submit(
      (key) => training.exportCheckpoint({ key, uri, format: wireFormat }),
      (operation) => decodeArtifact(outcome(operation, 'artifact')),
    );
  }

  downloadArtifact(artifact: ExportedArtifact, directory: string): Promise<readonly string[]> {
    return downloadArtifact(this.#link, { modelId: this.modelId, artifact, directory });
  }

  async listCheckpoints(): Promise<readonly Checkpoint[]> {
    const { training, policy } = this.#link;
    const { modelId } = this;
    const { checkpoints } = await policy.run(() => training.listCheckpoints({ modelId }));
    return checkpoints.map(decodeCheckpoint);
  }

  async deleteCheckpoint(uri: string): Promise<void> {
    const { training, policy, sessionId } = this.#link;
    const { modelId } = this;
    await policy.runRemoval(() => training.deleteCheckpoint({ sessionId, modelId, uri }));
  }

  async endpoint(): Promise<InferenceEndpoint> {
    const { inference, policy } = this.#link;
    const { modelId } = this;
    const { endpoint } = await policy.run(() => inference.getEndpoint({ modelId }));
    return toEndpoint(endpoint ?? create(InferenceEndpointSchema));
  }

  async cancel(sequence: number): Promise<void> {
    const { training, policy } = this.#link;
    const key = this.#key(sequence);
    await policy.run(() => training.cancelOperation({ key }));
  }

  async pause(mode: PauseModeName): Promise<InferenceState> {
    const { inference, policy, sessionId } = this.#link;
    const { modelId } = this;
    const wireMode = mode === 'drain' ? PauseMode.DRAIN : PauseMode.ABORT;
    const { state } = await policy.run(() => inference.pause({ sessionId, modelId, mode: wireMode }, untimed));
    return toInferenceState(state);
  }

  async resume(): Promise<InferenceState> {
    const { inference, policy, sessionId } = this.#link;
    const { modelId } = this;
    const { state } = await policy.run(() => inference.resume({ sessionId, modelId }));
    return toInferenceState(state);
  }

  async unload(): Promise<void> {
    const { training, policy, sessionId } = this.#link;
    const { modelId } = this;
    await policy.runRemoval(() => training.unloadModel({ sessionId, modelId }, untimed));
    this.#watcher.fail(new RuntimeError({ reason: ErrorReason.NOT_FOUND, message: `Model "${modelId}" was unloaded` }));
  }

  async #score(
    batch: TrainingBatch,
    { useReference = false, kind }: ForwardOptions & { readonly kind: BatchOutputKind },
  ): Promise<readonly Float32Array[]> {
    const content = { batch: encodeBatch(batch), loss: null, useReference };
    const pending = await this.#submitBatch(content);
    await pending.result;
    const place = { modelId: this.modelId, seq: pending.sequence, kind };
    return fetchOutput(this.#link, place, batch.data.map(trainedTokenCount));
  }

  async #submitBatch(content: BatchContent): Promise<PendingOperation<BatchResult>> {
    const { payload } = content.batch;
    const upload = (key: Key): Promise<SubmitBatchResponse> =>
      uploadBatch(this.#link.training, { header: batchHeader(key, content), payload });
    return await this.#submit(upload, toBatchResult);
  }

  /** Takes the next number synchronously, so that numbers follow the order of the calls, then sends. */
  async #submit<TResult>(
    send: (key: Key) => Promise<{ operation?: Operation | undefined }>,
    toResult: (operation: Operation) => TResult,
  ): Promise<PendingOperation<TResult>> {
    if (this.#watcher.failure !== undefined) throw this.#watcher.failure;
    const sequence = this.#nextSeq;
    this.#nextSeq += 1;
    const ended = this.#watcher.expect(sequence);
    await this.#window.enter(sequence);
    try {
      const { operation } = await this.#link.policy.run(() => {
        if (this.#watcher.failure !== undefined) throw this.#watcher.failure;
        return send(this.#key(sequence));
      });
      if (operation !== undefined) this.#watcher.accepted(operation);
    } catch (error) {
      this.#watcher.refused(sequence, error);
      // Without its number the operation leaves a gap that blocks all later ones.
      const isContent = error instanceof RuntimeError && contentReasons.has(error.reason);
      if (!isContent) this.#watcher.fail(error);
      throw error;
    } finally {
      this.#window.leave(sequence);
    }
    const result = ended.then(toResult);
    result.catch(() => {});
    return { sequence, result };
  }

  #key(seq: number): Key {
    return { sessionId: this.#link.sessionId, modelId: this.modelId, seq };
  }
}

function assertStateFits(bytes: Uint8Array): void {
  if (bytes.byteLength <= maxClientStateBytes) return;
  throw new RuntimeError({
    reason: ErrorReason.TOO_LARGE,
    message: `The client state has ${bytes.byteLength} bytes; the limit is ${maxClientStateBytes}`,
    field: 'client_state',
    remedy: 'Keep large data in the store, and their ids in the checkpoint.',
  });
}

/** A batch to submit under the next sequence number. */
interface BatchContent {
  readonly batch: EncodedBatch;
  /** Null for a forward pass only. */
  readonly loss: LossSpec | null;
  /** Whether a forward pass uses the model's initial weights. */
  readonly useReference: boolean;
}

/** The header of a batch, without the payload's size and hash. */
function batchHeader(
  key: MessageInitShape<typeof OperationKeySchema>,
  { batch, loss, useReference }: BatchContent,
): BatchUpload['header'] {
  const { datumCount, tokenCount, maxVersionLag } = batch;
  return {
    key,
    kind: loss === null ? BatchKind.FORWARD : BatchKind.FORWARD_BACKWARD,
    ...(loss === null ? {} : { loss: { name: loss.name, parameters: { ...loss.parameters } } }),
    datumCount,
    tokenCount,
    useReference,
    ...(maxVersionLag === undefined ? {} : { maxVersionLag }),
  };
}

/** Converts a model's state to the type of core. */
function toModelState(model: ModelInfo): ModelState {
  const { modelId, baseModel, step, policyVersion, hasPendingGradients, isCorrupted, hasValueHead } = model;
  const { nextSeq: nextSequence, lora, trainableParameterCount } = model;
  return {
    modelId,
    baseModel,
    step,
    policyVersion,
    nextSequence,
    hasPendingGradients,
    isCorrupted,
    ...(lora === undefined ? {} : { lora: { rank: lora.rank, alpha: lora.alpha, targetModules: lora.targetModules } }),
    hasValueHead,
    ...(trainableParameterCount === 0n ? {} : { trainableParameterCount: Number(trainableParameterCount) }),
  };
}

/** @throws RuntimeError INTERNAL when the operation has another outcome */
function toBatchResult(operation: Operation): BatchResult {
  const { loss, trainedTokens, metrics } = outcome(operation, 'batch');
  return { loss, trainedTokens, metrics };
}

/** Converts an endpoint to the type of core. */
function toEndpoint({ baseUrl, model, policyVersion, weights }: WireEndpoint): InferenceEndpoint {
  return { baseUrl, model, policyVersion, ...(weights && { weights: toPublishedWeights(weights) }) };
}

/** Converts the state of sampling to the public type. */
function toInferenceState(state: InferenceState | undefined): InferenceState {
  return {
    isPaused: state?.isPaused ?? false,
    inFlight: state?.inFlight ?? 0,
    policyVersion: state?.policyVersion ?? 0,
  };
}

/** The output of a forward pass, one array for each datum. */
async function fetchOutput(
  link: RuntimeLink,
  place: { readonly modelId: string; readonly seq: number; readonly kind: BatchOutputKind },
  counts: readonly number[],
): Promise<readonly Float32Array[]> {
  const received = await link.policy.run(async () => {
    const chunks: Uint8Array[] = [];
    for await (const { data } of link.training.fetchBatchOutput(place, untimed)) chunks.push(data);
    return chunks;
  });
  const all = unpackFloat32(Buffer.concat(received));
  const expected = counts.reduce((sum, count) => sum + count, 0);
  if (all.length !== expected) {
    throw new RuntimeError({
      reason: ErrorReason.INTERNAL,
      message: `The runtime returned ${all.length} numbers for ${expected} trained tokens`,
    });
  }
  let at = 0;
  return counts.map((count) => {
    at += count;
    return all.slice(at - count, at);
  });
}

type Outcome = Operation['outcome'];
type OutcomeCase = NonNullable<Outcome['case']>;
type OutcomeValue<TCase extends OutcomeCase> =
  Extract<Outcome, { readonly case: TCase }> extends { readonly value: infer TValue } ? TValue : never;

/**
 * Returns the outcome of an operation.
 * @throws RuntimeError INTERNAL when a successful operation has another outcome
 */
function outcome<TCase extends OutcomeCase>(operation: Operation, expected: TCase): OutcomeValue<TCase> {
  const found: Outcome = operation.outcome;
  // The cases are equal, so the value has the expected type; the compiler does not narrow by a type parameter.
  if (found.case === expected) return found.value as OutcomeValue<TCase>;
  throw new RuntimeError({
    reason: ErrorReason.INTERNAL,
    message: `Operation ${operation.seq} of model "${operation.modelId}" returned ${found.case ?? 'nothing'} instead of ${expected}`,
  });
}
