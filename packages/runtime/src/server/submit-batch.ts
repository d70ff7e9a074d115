import { type DescMessage, type MessageShape, toBinary } from '@bufbuild/protobuf';
import { type BatchHeader, BatchHeaderSchema, BatchKind } from '../gen/agentlightning/runtime/v1/batch_pb.ts';
import { ErrorReason } from '../gen/agentlightning/runtime/v1/error_pb.ts';
import type { SubmitBatchRequest } from '../gen/agentlightning/runtime/v1/training_pb.ts';
import { RuntimeError } from '../runtime-error.ts';
import { sha256 } from '../wire/batch.ts';
import { packArray } from '../wire/packed-array.ts';
import type { ResolvedLoss } from './engine.ts';
import type { HostedModel } from './hosted-model.ts';
import type { OperationOutcome, OperationRecord, OperationWork } from './operation-record.ts';
import { checkHeader, readHeader, receivePayload, unpackBatch } from './receive-batch.ts';
import { resolveLoss } from './resolve-parameters.ts';
import { assertSound, type RuntimeHost } from './runtime-host.ts';

/** Takes an upload in, from its first message to the accepted operation. */
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
    const payload = await receivePayload(iterator, header);
    const execute = batchWork(payload, header, { host, model, seq: key.seq });
    model.assertOwner(key.sessionId);
    return model.accept(key.seq, { fingerprint, addsGradients, execute, release });
  } catch (error) {
    release?.();
    if (!isRefusal(error)) throw error;
    return model.accept(key.seq, refusedWork(fingerprint, addsGradients, error));
  }
}

/** Tells whether a request is the same as an earlier one. */
export function fingerprintOf<TSchema extends DescMessage>(schema: TSchema, message: MessageShape<TSchema>): string {
  const digest = Buffer.from(sha256(toBinary(schema, message))).toString('base64');
  return `${schema.typeName} ${digest}`;
}

/** Whether an error is about the content, so that the operation takes its number and has failed. */
export function isRefusal(error: unknown): error is RuntimeError {
  return (
    error instanceof RuntimeError && (error.reason === ErrorReason.INVALID || error.reason === ErrorReason.TOO_LARGE)
  );
}

/** The work of an operation that was refused on arrival. */
export function refusedWork(fingerprint: string, addsGradients: boolean, refusal: RuntimeError): OperationWork {
  return { fingerprint, addsGradients, refusal, execute: () => Promise.reject(refusal) };
}

interface BatchPlace {
  readonly host: RuntimeHost;
  readonly model: HostedModel;
  readonly seq: number;
}

function batchWork(payload: Uint8Array, header: BatchHeader, place: BatchPlace): () => Promise<OperationOutcome> {
  const { host, model } = place;
  if (header.kind === BatchKind.FORWARD) {
    const batch = unpackBatch(payload, header, { host, model, needsReference: false });
    return async () => {
      const logprobs = await assertSound(model).logprobs(batch);
      const output = concatenated(logprobs);
      model.operation(place.seq).output = output;
      const trainedTokens = output.byteLength / 4;
      const value = { loss: 0, trainedTokens, outputBytes: output.byteLength };
      return { case: 'batch', value };
    };
  }
  const loss = resolveLoss(header.loss, host.capabilities.losses);
  const needsReference = hasKlTerm(loss);
  const batch = unpackBatch(payload, header, { host, model, needsReference });
  return async () => {
    const result = await assertSound(model).forwardBackward(batch, loss);
    assertFinite(result.loss);
    return { case: 'batch', value: { ...result, metrics: { ...result.metrics } } };
  };
}

function hasKlTerm(loss: ResolvedLoss): boolean {
  return (loss.parameters['kl_coefficient'] ?? 0) !== 0;
}

function assertFinite(loss: number): void {
  if (Number.isFinite(loss)) return;
  throw new RuntimeError({
    reason: ErrorReason.NON_FINITE,
    message: `The loss of the batch is ${loss}`,
  });
}

function concatenated(arrays: readonly Float32Array[]): Uint8Array {
  const all = new Float32Array(arrays.reduce((sum, array) => sum + array.length, 0));
  let at = 0;
  for (const array of arrays) {
    all.set(array, at);
    at += array.length;
  }
  return packArray(all);
}
