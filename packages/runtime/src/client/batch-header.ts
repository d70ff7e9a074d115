import type { LossSpec } from '@agentlightning/core/training-runtime';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { BatchKind, type OperationKeySchema } from '../gen/agentlightning/runtime/v1/batch_pb.ts';
import type { EncodedBatch } from '../wire/batch.ts';
import type { BatchUpload } from './upload-batch.ts';

/** A batch to submit under the next sequence number. */
export interface BatchContent {
  readonly batch: EncodedBatch;
  /** Null for a forward pass only. */
  readonly loss: LossSpec | null;
  /** Whether a forward pass uses the model's initial weights. */
  readonly useReference: boolean;
}

/** The header of a batch, without the payload's size and hash. */
export function batchHeader(
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
