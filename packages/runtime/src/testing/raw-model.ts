import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LoraConfig, LossSpec, TrainingBatch } from '@agentlightning/core/training-runtime';
import type { MessageInitShape } from '@bufbuild/protobuf';
import {
  type BatchHeaderSchema,
  BatchKind,
  type OperationKeySchema,
} from '../gen/agentlightning/runtime/v1/batch_pb.ts';
import { type Operation, OperationState } from '../gen/agentlightning/runtime/v1/operation_pb.ts';
import type {
  CreateModelRequestSchema,
  SubmitBatchRequestSchema,
  SubmitBatchResponse,
} from '../gen/agentlightning/runtime/v1/training_pb.ts';
import { encodeBatch } from '../wire/batch.ts';
import { sha256 } from '../wire/sha256.ts';
import type { RawClient } from './raw-client.ts';

type Header = MessageInitShape<typeof BatchHeaderSchema>;

/** An encoded batch to upload. */
export interface RawUpload {
  readonly header: Header;
  /** Null sends only the header and leaves the upload open. */
  readonly payload: Uint8Array | null;
}

/** A model over the bare contract: the test controls every number and byte. */
export interface RawModel {
  readonly client: RawClient;
  readonly sessionId: string;
  readonly modelId: string;
  readonly baseModel: string;
  key(seq: number): MessageInitShape<typeof OperationKeySchema>;
  /** A well-formed upload, to send unchanged or corrupted. */
  upload(seq: number, batch: TrainingBatch, loss?: LossSpec): RawUpload;
  send(upload: RawUpload): Promise<SubmitBatchResponse>;
  /** The operation after its end. */
  ended(seq: number): Promise<Operation>;
}

const endedStates: ReadonlySet<OperationState> = new Set([
  OperationState.SUCCEEDED,
  OperationState.FAILED,
  OperationState.CANCELLED,
]);

/** Opens a session and creates a model, of the runtime's first base by default, or takes one over. */
export async function openRawModel(
  client: RawClient,
  modelId: string,
  { base, lora }: { readonly base?: string | undefined; readonly lora?: LoraConfig | undefined } = {},
): Promise<RawModel> {
  const { baseModels } = await client.runtime.getCapabilities({});
  const { sessionId } = await client.runtime.createSession({ clientSessionKey: randomUUID() });
  const baseModel = base ?? baseModels[0]?.name ?? '';
  await client.training.createModel({ sessionId, modelId, baseModel, seed: 1, ...loraMessage({ lora }) });
  const key = (seq: number): MessageInitShape<typeof OperationKeySchema> => ({ sessionId, modelId, seq });
  const model: RawModel = {
    client,
    sessionId,
    modelId,
    baseModel,
    key,
    upload: (seq, batch, loss) => wellFormed(key(seq), batch, loss),
    send: (upload) => sendUpload(client, upload),
    ended: (seq) => endOf(client, modelId, seq),
  };
  await model.ended(0);
  return model;
}

/** The LoRA of a model as a message. */
export function loraMessage({
  lora,
}: {
  readonly lora?: LoraConfig | undefined;
}): Pick<MessageInitShape<typeof CreateModelRequestSchema>, 'lora'> {
  if (lora === undefined) return {};
  const { rank, alpha = 0, targetModules = [] } = lora;
  return { lora: { rank, alpha, targetModules: [...targetModules] } };
}

function wellFormed(key: Header['key'], batch: TrainingBatch, loss?: LossSpec): RawUpload {
  const { payload, datumCount, tokenCount } = encodeBatch(batch);
  const { name, parameters } = loss ?? { name: 'importance_sampling', parameters: {} };
  return {
    header: {
      key,
      kind: BatchKind.FORWARD_BACKWARD,
      loss: { name, parameters: { ...parameters } },
      datumCount,
      tokenCount,
      payloadBytes: payload.byteLength,
      sha256: sha256(payload),
    },
    payload,
  };
}

/** Sends the header and the payload, if any, and leaves the upload open. */
export function openUpload(client: RawClient, upload: RawUpload): Promise<SubmitBatchResponse> {
  return client.training.submitBatch(uploadMessages(upload, true));
}

function sendUpload(client: RawClient, upload: RawUpload): Promise<SubmitBatchResponse> {
  return client.training.submitBatch(uploadMessages(upload, upload.payload === null));
}

async function* uploadMessages(
  { header, payload }: RawUpload,
  staysOpen: boolean,
): AsyncGenerator<MessageInitShape<typeof SubmitBatchRequestSchema>> {
  yield { part: { case: 'header', value: header } };
  if (payload !== null) yield { part: { case: 'chunk', value: { offset: 0, data: payload } } };
  if (staysOpen) await new Promise(() => {});
}

async function endOf(client: RawClient, modelId: string, seq: number): Promise<Operation> {
  for (;;) {
    const { operation } = await client.training.getOperation({ modelId, seq });
    if (operation !== undefined && endedStates.has(operation.state)) return operation;
    await sleep(5);
  }
}
