import { type DescMessage, type MessageShape, toBinary } from '@bufbuild/protobuf';
import { BatchHeaderSchema, BatchKind } from '../../gen/agentlightning/runtime/v1/batch_pb.ts';
import { ErrorReason } from '../../gen/agentlightning/runtime/v1/error_pb.ts';
import type { SubmitBatchRequest } from '../../gen/agentlightning/runtime/v1/training_pb.ts';
import { RuntimeError } from '../../runtime-error.ts';
import { sha256 } from '../../wire/sha256.ts';
import type { OperationRecord, OperationWork } from '../operation-record.ts';
import type { RuntimeHost } from '../runtime-host.ts';
import { planBatch } from './batch-work.ts';
import { checkHeader, readHeader, receiveBatch } from './receive-batch.ts';

/** Processes an upload, from its first message to the accepted operation. */
export async function submitBatch(
  messages: AsyncIterable<SubmitBatchRequest>,
  host: RuntimeHost,
): Promise<OperationRecord> {
  const iterator = messages[Symbol.asyncIterator]();
  const { header, key } = await readHeader(iterator);
  const model = host.ownedModel(key.sessionId, key.modelId);
  const fingerprint = fingerprintOf(BatchHeaderSchema, header);
  const known = model.findOrRefuse(key.seq, fingerprint);
  if (known !== undefined) return known;
  const addsGradients = header.kind !== BatchKind.FORWARD;
  let release: (() => void) | undefined;
  try {
    checkHeader(header, host);
    release = host.budget.take(header.payloadBytes, key.seq === model.nextSeq);
    const { rules, execute } = planBatch(header, { host, model, seq: key.seq });
    const batch = await receiveBatch(iterator, header, rules);
    model.assertOwner(key.sessionId);
    return model.accept(key.seq, { fingerprint, addsGradients, execute: () => execute(batch), release });
  } catch (error) {
    release?.();
    if (!isRefusal(error)) throw error;
    return model.accept(key.seq, refusedWork(fingerprint, addsGradients, error));
  }
}

/** Identifies a retried request. */
export function fingerprintOf<TSchema extends DescMessage>(schema: TSchema, message: MessageShape<TSchema>): string {
  const digest = Buffer.from(sha256(toBinary(schema, message))).toString('base64');
  return `${schema.typeName} ${digest}`;
}

/** Whether an error concerns the content, so that the operation uses its number and fails. */
export function isRefusal(error: unknown): error is RuntimeError {
  return (
    error instanceof RuntimeError && (error.reason === ErrorReason.INVALID || error.reason === ErrorReason.TOO_LARGE)
  );
}

/** The work of an operation that was rejected on arrival. */
export function refusedWork(fingerprint: string, addsGradients: boolean, refusal: RuntimeError): OperationWork {
  return { fingerprint, addsGradients, refusal, execute: () => Promise.reject(refusal) };
}
