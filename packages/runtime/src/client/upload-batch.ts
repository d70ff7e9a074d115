import { create, type MessageInitShape } from '@bufbuild/protobuf';
import type { ClientWritableStream } from '@grpc/grpc-js';
import type { BatchHeaderSchema } from '../gen/agentlightning/runtime/v1/batch_pb.ts';
import {
  type SubmitBatchRequest,
  SubmitBatchRequestSchema,
  type SubmitBatchResponse,
  type TrainingService,
} from '../gen/agentlightning/runtime/v1/training_pb.ts';
import type { ServiceClient } from '../grpc/service-client.ts';
import { chunkBytes } from '../runtime-limits.ts';
import { chunkHeadBytes, encodeChunk } from '../wire/batch-chunk.ts';
import { sha256 } from '../wire/sha256.ts';
import type { BufferPool } from './buffer-pool.ts';

/** What is uploaded, as which operation. */
export interface BatchUpload {
  /** All but the payload's size and hash. */
  readonly header: Omit<MessageInitShape<typeof BatchHeaderSchema>, '$typeName' | '$unknown'>;
  /** The serialised `Batch`. */
  readonly payload: Uint8Array;
}

/** What an upload goes through. */
export interface UploadWay {
  readonly training: ServiceClient<(typeof TrainingService)['method']>;
  /** Memory for the pieces. */
  readonly buffers: BufferPool;
}

/** Uploads a batch once: the header, then pieces as fast as the runtime takes them. */
export async function uploadBatch(way: UploadWay, { header, payload }: BatchUpload): Promise<SubmitBatchResponse> {
  const whole = { ...header, payloadBytes: payload.byteLength, sha256: sha256(payload) };
  const { stream, response } = way.training.submitBatch();
  const answered = new AbortController();
  const settled = response.finally(() => answered.abort());
  settled.catch(() => {});
  try {
    await writeAll(way, { stream, answered: answered.signal, header: whole, payload });
  } catch {
    // The answer knows better why the stream broke; if there is none yet, this makes one.
    stream.cancel();
  }
  return settled;
}

type Stream = ClientWritableStream<SubmitBatchRequest | Uint8Array>;

interface Writing extends BatchUpload {
  readonly stream: Stream;
  /** Aborts when the answer is there. */
  readonly answered: AbortSignal;
}

/**
 * Writes the header, then pieces, at most two of them ahead of what has left this machine. When the answer comes before
 * the end, the rest is left out.
 */
async function writeAll({ buffers }: UploadWay, { stream, answered, header, payload }: Writing): Promise<void> {
  await written(stream, create(SubmitBatchRequestSchema, { part: { case: 'header', value: header } }), answered);
  const slots = [0, 1].map(() => ({
    memory: buffers.take(chunkBytes + chunkHeadBytes),
    isFree: Promise.resolve(true),
  }));
  for (let offset = 0; offset < payload.byteLength; offset += chunkBytes) {
    const [slot] = slots.splice(0, 1);
    if (slot === undefined || !(await slot.isFree)) return;
    const message = encodeChunk(offset, payload.subarray(offset, offset + chunkBytes), slot.memory);
    slots.push({ memory: slot.memory, isFree: written(stream, message, answered) });
  }
  stream.end();
  for (const { memory, isFree } of slots) if (await isFree) buffers.give(memory);
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
