import type { MessageInitShape } from '@bufbuild/protobuf';
import { ErrorReason } from '../gen/agentlightning/runtime/v1/error_pb.ts';
import {
  BatchOutputKind,
  type FetchBatchOutputResponseSchema,
  type WatchOperationsResponseSchema,
} from '../gen/agentlightning/runtime/v1/training_pb.ts';
import { RuntimeError } from '../runtime-error.ts';
import { chunkBytes } from '../runtime-limits.ts';
import type { HostedModel } from './hosted-model.ts';
import type { OperationRecord } from './operation-record.ts';

/** Every change of a model's operations after a cursor; a cursor of an earlier instance restarts at the beginning. */
export async function* watchOperations(
  model: HostedModel,
  afterCursor: string,
  signal: AbortSignal,
): AsyncGenerator<MessageInitShape<typeof WatchOperationsResponseSchema>> {
  // Response headers are sent with the first response: the client then knows that an idle model is watched.
  yield {};
  const [incarnation, place] = afterCursor.split(':');
  const after = incarnation === model.incarnation ? Number(place) : 0;
  for await (const record of model.changes.follow(Number.isFinite(after) ? after : 0, signal)) {
    const cursor = `${model.incarnation}:${record.changeIndex}`;
    yield { event: { cursor, operation: record.toMessage() } };
  }
}

/** One output of a forward pass in chunks. */
export async function* fetchBatchOutput(
  record: OperationRecord,
  kind: BatchOutputKind,
): AsyncGenerator<MessageInitShape<typeof FetchBatchOutputResponseSchema>> {
  const wantsValues = kind === BatchOutputKind.VALUES;
  const output = wantsValues ? record.output?.values : record.output?.logprobs;
  if (output === undefined || (wantsValues && output.byteLength === 0)) {
    throw new RuntimeError({
      reason: ErrorReason.PRECONDITION,
      message: `Operation ${record.seq} of model "${record.modelId}" has no ${wantsValues ? 'values: it is not a FORWARD batch of a model with a value head' : 'output: it is not a FORWARD batch'}, or has not ended`,
    });
  }
  for (let offset = 0; offset < output.byteLength; offset += chunkBytes) {
    yield { offset, data: output.subarray(offset, offset + chunkBytes) };
  }
}
