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
import { chunkHeadBytes, encodeChunk } from '../wire/batch-chunk.ts';
import type { RuntimeLink } from './runtime-link.ts';

/** What is uploaded, as which operation. */
export interface BatchUpload {
  readonly modelId: string;
  readonly seq: number;
  readonly batch: EncodedBatch;
  /** SHA-256 of the payload. */
  readonly sha256: Uint8Array;
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
    const header = headerOf({ ...upload, sessionId: link.sessionId });
    await writeAll(link, { stream, answered: answered.signal, header, payload: upload.batch.payload });
  } catch {
    // The answer knows better why the stream broke; if there is none yet, this makes one.
    stream.cancel();
  }
  return settled;
}

type Stream = ClientWritableStream<SubmitBatchRequest | Uint8Array>;

interface Writing {
  readonly stream: Stream;
  /** Aborts when the answer is there. */
  readonly answered: AbortSignal;
  readonly header: MessageInitShape<typeof BatchHeaderSchema>;
  readonly payload: Uint8Array;
}

/**
 * Writes the header, then pieces, at most two of them ahead of what has left this machine. When the answer comes before
 * the end, the rest is left out.
 */
async function writeAll(link: RuntimeLink, { stream, answered, header, payload }: Writing): Promise<void> {
  await written(stream, create(SubmitBatchRequestSchema, { part: { case: 'header', value: header } }), answered);
  const slots = [0, 1].map(() => ({
    memory: link.buffers.take(chunkBytes + chunkHeadBytes),
    isFree: Promise.resolve(true),
  }));
  for (let offset = 0; offset < payload.byteLength; offset += chunkBytes) {
    const [slot] = slots.splice(0, 1);
    if (slot === undefined || !(await slot.isFree)) return;
    const message = encodeChunk(offset, payload.subarray(offset, offset + chunkBytes), slot.memory);
    slots.push({ memory: slot.memory, isFree: written(stream, message, answered) });
  }
  stream.end();
  for (const { memory, isFree } of slots) if (await isFree) link.buffers.give(memory);
}

function headerOf({
  sessionId,
  modelId,
  seq,
  batch,
  loss,
  useReference,
  sha256,
}: BatchUpload & { readonly sessionId: string }): Writing['header'] {
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

/** Writes a message; true when it has left, so that its memory is free; false when the answer came first. */
function written(stream: Stream, message: SubmitBatchRequest | Uint8Array, answered: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const stop = (): void => resolve(false);
    if (answered.aborted) {
      stop();
      return;
    }
    answered.addEventListener('abort', stop, { once: true });
    stream.write(message, (error?: Error | null) => {
      answered.removeEventListener('abort', stop);
      resolve(error === null || error === undefined);
    });
  });
}
