import type { TrainingBatch } from '@agentlightning/core';
import { type BatchHeader, BatchKind, type OperationKey } from '../gen/agentlightning/runtime/v1/batch_pb.ts';
import { ErrorReason } from '../gen/agentlightning/runtime/v1/error_pb.ts';
import type { SubmitBatchRequest } from '../gen/agentlightning/runtime/v1/training_pb.ts';
import { RuntimeError } from '../runtime-error.ts';
import { decodeBatch, sha256 } from '../wire/batch.ts';
import { type BatchRules, checkBatch } from './check-batch.ts';
import { assertFeature } from './features.ts';
import type { HostedModel } from './hosted-model.ts';
import { invalid } from './invalid.ts';
import type { RuntimeHost } from './runtime-host.ts';

/** A header that is the first message, with a key. */
export interface KeyedHeader {
  readonly header: BatchHeader;
  readonly key: OperationKey;
}

/**
 * Reads the first message of an upload.
 * @throws RuntimeError INVALID when it is no header with a key
 */
export async function readHeader(messages: AsyncIterator<SubmitBatchRequest>): Promise<KeyedHeader> {
  const first = await messages.next();
  const part = first.done === true ? undefined : first.value.part;
  if (part?.case !== 'header') throw invalid('header', 'is missing; it is the first message');
  const header = part.value;
  if (header.key === undefined) throw invalid('header.key', 'is missing');
  return { header, key: header.key };
}

/** Refuses by the header alone, before the payload is taken in. @throws RuntimeError INVALID or TOO_LARGE */
export function checkHeader(header: BatchHeader, host: RuntimeHost): void {
  const { maxBatchTokens } = host.capabilities;
  const { maxBatchBytes, maxBatchData } = host.limits;
  if (header.kind !== BatchKind.FORWARD && header.kind !== BatchKind.FORWARD_BACKWARD) {
    throw invalid('header.kind', `is ${header.kind}; it must be FORWARD or FORWARD_BACKWARD`);
  }
  if (header.useReference) {
    if (header.kind !== BatchKind.FORWARD) throw invalid('header.use_reference', 'is only for FORWARD');
    assertFeature(host.capabilities, 'reference_logprobs', 'header.use_reference');
  }
  assertAtMost('token_count', header.tokenCount, maxBatchTokens);
  assertAtMost('payload_bytes', header.payloadBytes, maxBatchBytes);
  assertAtMost('datum_count', header.datumCount, maxBatchData);
}

/**
 * Takes the payload in.
 * @throws RuntimeError INVALID when it is not what the header announced, INCOMPLETE when it breaks off
 */
export async function receivePayload(
  messages: AsyncIterator<SubmitBatchRequest>,
  header: BatchHeader,
): Promise<Uint8Array> {
  const payload = new Uint8Array(header.payloadBytes);
  let received = 0;
  for (let next = await messages.next(); next.done !== true; next = await messages.next()) {
    const { part } = next.value;
    if (part.case !== 'chunk') throw invalid('chunk', 'is missing; only chunks follow the header');
    const { offset, data } = part.value;
    if (offset !== received) throw invalid('chunk.offset', `is ${offset}; ${received} is next`);
    if (received + data.byteLength > payload.byteLength) {
      throw invalid('header.payload_bytes', `is ${payload.byteLength}; more bytes came`);
    }
    payload.set(data, received);
    received += data.byteLength;
  }
  if (received < payload.byteLength) {
    // A connection that is lost looks like an upload that ends: http2 ends the stream before it says why.
    throw new RuntimeError({
      reason: ErrorReason.INCOMPLETE,
      message: `The upload ended after ${received} of ${payload.byteLength} bytes`,
    });
  }
  if (Buffer.compare(sha256(payload), header.sha256) !== 0) {
    throw invalid('header.sha256', 'is not the SHA-256 of the payload that came');
  }
  return payload;
}

/** Unpacks and checks a payload. @throws RuntimeError INVALID */
export function unpackBatch(
  payload: Uint8Array,
  header: BatchHeader,
  place: { readonly host: RuntimeHost; readonly model: HostedModel; readonly needed: BatchRules['needed'] },
): TrainingBatch {
  const base = place.host.capabilities.models.find(({ name }) => name === place.model.baseModel);
  if (base === undefined) throw invalid('base_model', `${place.model.baseModel} is not known`);
  const data = decode(payload);
  const batch = checkBatch(data, { model: base, needed: place.needed });
  const tokenCount = batch.data.reduce((sum, datum) => sum + datum.tokenIds.length, 0);
  if (data.length !== header.datumCount) {
    throw invalid('header.datum_count', `is ${header.datumCount}; ${data.length} came`);
  }
  if (tokenCount !== header.tokenCount) {
    throw invalid('header.token_count', `is ${header.tokenCount}; ${tokenCount} came`);
  }
  return batch;
}

function decode(payload: Uint8Array): ReturnType<typeof decodeBatch> {
  try {
    return decodeBatch(payload);
  } catch (cause) {
    throw new RuntimeError({
      reason: ErrorReason.INVALID,
      message: 'The payload is not a serialised Batch',
      field: 'payload',
      cause,
    });
  }
}

function assertAtMost(field: string, value: number, limit: number): void {
  if (value <= limit) return;
  throw new RuntimeError({
    reason: ErrorReason.TOO_LARGE,
    message: `header.${field} is ${value}; the limit is ${limit}`,
    field: `header.${field}`,
    remedy: `Split the batch: gradients of several batches add up before a step.`,
  });
}
