/**
 * Batches are serialised, hashed and sent on the thread and the connection of all other calls: 13 to 14 ms of the event loop
 * for one million tokens. A worker thread needed 4 ms, a second connection, shared memory, a protobuf writer for it and a path
 * for programs that cannot start one, about 800 lines; it pays off only where several million tokens are sent per second.
 *
 * @module
 */
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { BatchHeaderSchema } from '../gen/agentlightning/runtime/v1/batch_pb.ts';
import type { SubmitBatchRequestSchema, SubmitBatchResponse } from '../gen/agentlightning/runtime/v1/training_pb.ts';
import { chunkBytes } from '../runtime-limits.ts';
import { sha256 } from '../wire/sha256.ts';
import { type RuntimeLink, untimed } from './runtime-link.ts';

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
export function uploadBatch(training: RuntimeLink['training'], upload: BatchUpload): Promise<SubmitBatchResponse> {
  return training.submitBatch(uploadMessages(upload), untimed);
}

async function* uploadMessages({
  header,
  payload,
}: BatchUpload): AsyncGenerator<MessageInitShape<typeof SubmitBatchRequestSchema>> {
  const payloadBytes = payload.byteLength;
  yield { part: { case: 'header', value: { ...header, payloadBytes, sha256: sha256(payload) } } };
  for (let offset = 0; offset < payloadBytes; offset += chunkBytes) {
    yield { part: { case: 'chunk', value: { offset, data: payload.subarray(offset, offset + chunkBytes) } } };
  }
}
