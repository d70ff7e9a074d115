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
import { ErrorReason } from '../gen/agentlightning/runtime/v1/error_pb.ts';
import { ExportFormat } from '../gen/agentlightning/runtime/v1/export_pb.ts';
import { PauseMode } from '../gen/agentlightning/runtime/v1/inference_pb.ts';
import { InferenceEndpointSchema, ModelInfoSchema } from '../gen/agentlightning/runtime/v1/model_pb.ts';
import type { Operation } from '../gen/agentlightning/runtime/v1/operation_pb.ts';
import { BatchOutputKind, type SubmitBatchResponse } from '../gen/agentlightning/runtime/v1/training_pb.ts';
import { RuntimeError } from '../runtime-error.ts';
import { maxClientStateBytes } from '../runtime-limits.ts';
import type { ExportOptions, InferenceState, PauseMode as PauseModeName } from '../server/engine.ts';
import { encodeBatch, trainedTokenCount } from '../wire/batch.ts';
import { decodeCheckpoint, encodeClientState } from '../wire/checkpoint.ts';
import { type BatchContent, batchHeader } from './batch-header.ts';
import { toBatchResult, toEndpoint, toInferenceState, toModelState } from './decode-responses.ts';
import { decodeArtifact, downloadArtifact, type ExportedArtifact } from './download-artifact.ts';
import { fetchOutput } from './fetch-output.ts';
import { outcome } from './operation-outcome.ts';
import type { OperationWatcher } from './operation-watcher.ts';
import { type RuntimeLink, untimed } from './runtime-link.ts';
import { SendWindow } from './send-window.ts';
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
        const { step, gradientNorm, isSkipped } = outcome(operation, 'optimStep');
        return { step, gradientNorm, isSkipped };
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
