import { once } from 'node:events';
import type { LossSpec } from '@agentlightning/core';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import type { ClientWritableStream } from '@grpc/grpc-js';
import { type BatchHeaderSchema, BatchKind } from '../gen/agentlightning/runtime/v1/batch_pb.ts';
import {
  type SubmitBatchRequest,
  SubmitBatchRequestSchema,
  type SubmitBatchResponse,
} from '../gen/agentlightning/runtime/v1/training_pb.ts';
import { chunkBytes } from '../runtime-limits.ts';
import type { EncodedBatch } from '../wire/batch.ts';
import type { RuntimeLink } from './runtime-link.ts';

/** What is uploaded, as which operation. */
export interface BatchUpload {
  readonly modelId: string;
  readonly seq: number;
  readonly batch: EncodedBatch;
  /** Null for a forward pass only. */
  readonly loss: LossSpec | null;
  /** Whether a forward pass uses the weights that the model began with. */
  readonly useReference: boolean;
}

/** Uploads a batch once: the header, then pieces as fast as the runtime takes them. */
export async function uploadBatch(link: RuntimeLink, upload: BatchUpload): Promise<SubmitBatchResponse> {
  const { stream, response } = link.training.submitBatch();
  const answered = new AbortController();
  const settled = response.finally(() => answered.abort());
  settled.catch(() => {});
  try {
    await writeAll(stream, upload, { sessionId: link.sessionId, answered: answered.signal });
  } catch {
    // The answer knows better why the stream broke; if there is none yet, this makes one.
    stream.cancel();
  }
  return settled;
}

async function writeAll(
  stream: ClientWritableStream<SubmitBatchRequest>,
  upload: BatchUpload,
  { sessionId, answered }: { readonly sessionId: string; readonly answered: AbortSignal },
): Promise<void> {
  await write(stream, { case: 'header', value: header(sessionId, upload) }, answered);
  const { payload } = upload.batch;
  for (let offset = 0; offset < payload.byteLength && !answered.aborted; offset += chunkBytes) {
    const data = payload.subarray(offset, offset + chunkBytes);
    await write(stream, { case: 'chunk', value: { offset, data } }, answered);
  }
  if (!answered.aborted) stream.end();
}

function header(
  sessionId: string,
  { modelId, seq, batch, loss, useReference }: BatchUpload,
): MessageInitShape<typeof BatchHeaderSchema> {
  return {
    key: { sessionId, modelId, seq },
    kind: loss === null ? BatchKind.FORWARD : BatchKind.FORWARD_BACKWARD,
    ...(loss === null ? {} : { loss: { name: loss.name, parameters: { ...loss.parameters } } }),
    datumCount: batch.datumCount,
    tokenCount: batch.tokenCount,
    payloadBytes: batch.payload.byteLength,
    sha256: batch.sha256,
    useReference,
    ...(batch.maxVersionLag === undefined ? {} : { maxVersionLag: batch.maxVersionLag }),
  };
}

/** Writes a message, then waits while the stream is full. An answer ends the waiting. */
async function write(
  stream: ClientWritableStream<SubmitBatchRequest>,
  part: NonNullable<MessageInitShape<typeof SubmitBatchRequestSchema>['part']>,
  answered: AbortSignal,
): Promise<void> {
  if (stream.write(create(SubmitBatchRequestSchema, { part }))) return;
  try {
    await once(stream, 'drain', { signal: answered });
  } catch (error) {
    if (!answered.aborted) throw error;
  }
}
