import { once } from 'node:events';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import type { ClientWritableStream } from '@grpc/grpc-js';
import type { BatchHeaderSchema } from '../gen/agentlightning/runtime/v1/batch_pb.ts';
import {
  type SubmitBatchRequest,
  SubmitBatchRequestSchema,
  type SubmitBatchResponse,
} from '../gen/agentlightning/runtime/v1/training_pb.ts';
import { chunkBytes } from '../runtime-limits.ts';
import { sha256 } from '../wire/sha256.ts';
import type { RuntimeLink } from './runtime-link.ts';

/** The content of an upload and its operation. */
export interface BatchUpload {
  /** All fields except the payload's size and hash. */
  readonly header: Omit<MessageInitShape<typeof BatchHeaderSchema>, '$typeName' | '$unknown'>;
  /** The serialised `Batch`. */
  readonly payload: Uint8Array;
}

/**
 * Uploads a batch once: the header, then chunks as fast as the runtime accepts them. After an early response the
 * remaining chunks are not sent.
 */
export async function uploadBatch(
  training: RuntimeLink['training'],
  { header, payload }: BatchUpload,
): Promise<SubmitBatchResponse> {
  const { stream, response } = training.submitBatch();
  const responded = new AbortController();
  const settled = response.finally(() => responded.abort());
  settled.catch(() => {});
  const whole = { ...header, payloadBytes: payload.byteLength, sha256: sha256(payload) };
  try {
    await write(stream, { case: 'header', value: whole }, responded.signal);
    for (let offset = 0; offset < payload.byteLength; offset += chunkBytes) {
      const data = payload.subarray(offset, offset + chunkBytes);
      await write(stream, { case: 'chunk', value: { offset, data } }, responded.signal);
    }
    stream.end();
  } catch {
    // The response has the reason for the broken stream; without one yet, cancelling produces it.
    stream.cancel();
  }
  return await settled;
}

/** Writes a message, and waits while the stream's buffer is full. @throws AbortError after the response */
async function write(
  stream: ClientWritableStream<SubmitBatchRequest>,
  part: NonNullable<MessageInitShape<typeof SubmitBatchRequestSchema>['part']>,
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted();
  if (!stream.write(create(SubmitBatchRequestSchema, { part }))) await once(stream, 'drain', { signal });
}
