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
import { encodeChunk } from '../wire/batch-chunk.ts';
import { sha256Aside } from '../wire/sha256.ts';
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
  const sha256 = await sha256Aside(upload.batch.payload);
  const { stream, response } = link.training.submitBatch();
  const answered = new AbortController();
  const settled = response.finally(() => answered.abort());
  settled.catch(() => {});
  try {
    const header = headerOf({ ...upload, sha256, sessionId: link.sessionId });
    await writeAll(stream, { header, payload: upload.batch.payload }, answered.signal);
  } catch {
    // The answer knows better why the stream broke; if there is none yet, this makes one.
    stream.cancel();
  }
  return settled;
}

interface Content {
  readonly header: MessageInitShape<typeof BatchHeaderSchema>;
  readonly payload: Uint8Array;
}

type Stream = ClientWritableStream<SubmitBatchRequest | Uint8Array>;

async function writeAll(stream: Stream, { header, payload }: Content, answered: AbortSignal): Promise<void> {
  await write(stream, create(SubmitBatchRequestSchema, { part: { case: 'header', value: header } }), answered);
  for (let offset = 0; offset < payload.byteLength && !answered.aborted; offset += chunkBytes) {
    await write(stream, encodeChunk(offset, payload.subarray(offset, offset + chunkBytes)), answered);
  }
  if (!answered.aborted) stream.end();
}

function headerOf({
  sessionId,
  modelId,
  seq,
  batch,
  loss,
  useReference,
  sha256,
}: BatchUpload & { readonly sessionId: string; readonly sha256: Uint8Array }): Content['header'] {
  return {
    key: { sessionId, modelId, seq },
    kind: loss === null ? BatchKind.FORWARD : BatchKind.FORWARD_BACKWARD,
    ...(loss === null ? {} : { loss: { name: loss.name, parameters: { ...loss.parameters } } }),
    datumCount: batch.datumCount,
    tokenCount: batch.tokenCount,
    payloadBytes: batch.payload.byteLength,
    sha256,
    useReference,
    ...(batch.maxVersionLag === undefined ? {} : { maxVersionLag: batch.maxVersionLag }),
  };
}

/** Writes a message, then waits while the stream is full. An answer ends the waiting. */
async function write(stream: Stream, message: SubmitBatchRequest | Uint8Array, answered: AbortSignal): Promise<void> {
  if (stream.write(message)) return;
  try {
    await once(stream, 'drain', { signal: answered });
  } catch (error) {
    if (!answered.aborted) throw error;
  }
}
