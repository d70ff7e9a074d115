import { createHash } from 'node:crypto';
import type { TrainingBatch } from '@agentlightning/core/training-runtime';
import { type BatchHeader, BatchKind, type OperationKey } from '../../gen/agentlightning/runtime/v1/batch_pb.ts';
import { ErrorReason } from '../../gen/agentlightning/runtime/v1/error_pb.ts';
import type { SubmitBatchRequest } from '../../gen/agentlightning/runtime/v1/training_pb.ts';
import { RuntimeError } from '../../runtime-error.ts';
import { assertFeature, invalid } from '../invalid.ts';
import type { RuntimeHost } from '../runtime-host.ts';
import { BatchDecoder } from './batch-decoder.ts';
import type { BatchRules } from './check-datum.ts';

/** The header, from the first message, with a key. */
export interface KeyedHeader {
  readonly header: BatchHeader;
  readonly key: OperationKey;
}

/**
 * Reads the first message of an upload.
 * @throws RuntimeError INVALID when it is not a header with a key
 */
export async function readHeader(messages: AsyncIterator<SubmitBatchRequest>): Promise<KeyedHeader> {
  const first = await messages.next();
  const part = first.done === true ? undefined : first.value.part;
  if (part?.case !== 'header') throw invalid('header', 'is missing; it is the first message');
  const header = part.value;
  if (header.key === undefined) throw invalid('header.key', 'is missing');
  return { header, key: header.key };
}

/** Validates the header before the payload is received. @throws RuntimeError INVALID or TOO_LARGE */
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
 * Receives the payload; decodes and validates its data on the way.
 *
 * @throws RuntimeError INVALID when it differs from the header or is invalid, INCOMPLETE when it ends early
 */
export async function receiveBatch(
  messages: AsyncIterator<SubmitBatchRequest>,
  header: BatchHeader,
  rules: BatchRules,
): Promise<TrainingBatch> {
  const hash = createHash('sha256');
  const decoder = new BatchDecoder(rules, header.payloadBytes);
  let received = 0;
  for (let next = await messages.next(); next.done !== true; next = await messages.next()) {
    const { part } = next.value;
    if (part.case !== 'chunk') throw invalid('chunk', 'is missing; only chunks may follow the header');
    const { offset, data } = part.value;
    if (offset !== received) throw invalid('chunk.offset', `is ${offset}; ${received} was expected`);
    received += data.byteLength;
    if (received > header.payloadBytes)
      throw invalid('header.payload_bytes', `is ${header.payloadBytes}; more were received`);
    hash.update(data);
    decoder.take(data);
  }
  if (received < header.payloadBytes) {
    // A lost connection looks like the end of an upload: http2 ends the stream before it reports the cause.
    throw new RuntimeError({
      reason: ErrorReason.INCOMPLETE,
      message: `The upload ended after ${received} of ${header.payloadBytes} bytes`,
    });
  }
  if (Buffer.compare(hash.digest(), header.sha256) !== 0) {
    throw invalid('header.sha256', 'is not the SHA-256 of the received payload');
  }
  return checkCounts(decoder.finish(), header);
}

function checkCounts(batch: TrainingBatch, header: BatchHeader): TrainingBatch {
  const tokenCount = batch.data.reduce((sum, datum) => sum + datum.tokenIds.length, 0);
  if (batch.data.length !== header.datumCount) {
    throw invalid('header.datum_count', `is ${header.datumCount}; ${batch.data.length} were received`);
  }
  if (tokenCount !== header.tokenCount) {
    throw invalid('header.token_count', `is ${header.tokenCount}; ${tokenCount} were received`);
  }
  return batch;
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
