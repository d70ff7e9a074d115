import type { LossSpec } from '@agentlightning/core/training-runtime';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { BatchKind, type OperationKeySchema } from '../gen/agentlightning/runtime/v1/batch_pb.ts';
import type { EncodedBatch } from '../wire/batch.ts';
import type { BatchUpload } from './upload-batch.ts';

/** A batch to be submitted, under whatever number comes next. */
export interface BatchContent {
  readonly batch: EncodedBatch;
  /** Null for a forward pass only. */
  readonly loss: LossSpec | null;
  /** Whether a forward pass uses the weights that the model began with. */
  readonly useReference: boolean;
}

/** What is said of a batch before it is sent, in plain values: another thread may send it. */
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
