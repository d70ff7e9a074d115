import { createHash } from 'node:crypto';
import type { TrainingBatch, TrainingDatum } from '@agentlightning/core';
import { create, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { BatchSchema, type Datum, type DatumSchema } from '../gen/agentlightning/runtime/v1/batch_pb.ts';
import { packArray, unpackFloat32, unpackInt32 } from './packed-array.ts';

/** A batch ready to be uploaded. */
export interface EncodedBatch {
  /** The serialised `Batch`. */
  readonly payload: Uint8Array;
  /** Of the payload, 32 bytes. */
  readonly sha256: Uint8Array;
  readonly datumCount: number;
  readonly tokenCount: number;
}

/**
 * Serialises a batch: packed little-endian arrays in a protobuf message.
 *
 * @example
 * ```ts
 * const { payload, tokenCount } = encodeBatch({ data: [datum] });
 * console.log(payload.byteLength / tokenCount, 'bytes a token');
 * ```
 */
export function encodeBatch(batch: TrainingBatch): EncodedBatch {
  const message = create(BatchSchema, { data: batch.data.map(encodeDatum) });
  const payload = toBinary(BatchSchema, message);
  return {
    payload,
    sha256: sha256(payload),
    datumCount: batch.data.length,
    tokenCount: batch.data.reduce((sum, datum) => sum + datum.tokenIds.length, 0),
  };
}

/** The messages of a serialised batch; their arrays are unchecked bytes yet. */
export function decodeBatch(payload: Uint8Array): readonly Datum[] {
  return fromBinary(BatchSchema, payload).data;
}

/** One datum with its arrays unpacked. Lengths in bytes must be multiples of four. */
export function decodeDatum(datum: Datum): TrainingDatum {
  const { referenceLogprobs } = datum;
  return {
    tokenIds: unpackInt32(datum.tokenIds),
    trained: datum.trained.map(({ start, end }) => ({ start, end })),
    samplingLogprobs: unpackFloat32(datum.samplingLogprobs),
    advantages: unpackFloat32(datum.advantages),
    weights: unpackFloat32(datum.weights),
    ...(referenceLogprobs === undefined ? {} : { referenceLogprobs: unpackFloat32(referenceLogprobs) }),
    temperature: datum.temperature,
    rolloutId: datum.rolloutId,
    groupId: datum.groupId,
    minPolicyVersion: datum.minPolicyVersion,
    maxPolicyVersion: datum.maxPolicyVersion,
  };
}

/** The number of trained tokens of a datum. */
export function trainedTokenCount(datum: Pick<TrainingDatum, 'trained'>): number {
  return datum.trained.reduce((sum, { start, end }) => sum + end - start, 0);
}

/** SHA-256, 32 bytes. */
export function sha256(bytes: Uint8Array): Uint8Array {
  return createHash('sha256').update(bytes).digest();
}

function encodeDatum(datum: TrainingDatum): MessageInitShape<typeof DatumSchema> {
  const { referenceLogprobs } = datum;
  return {
    tokenIds: packArray(datum.tokenIds),
    trained: datum.trained.map(({ start, end }) => ({ start, end })),
    samplingLogprobs: packArray(datum.samplingLogprobs),
    advantages: packArray(datum.advantages),
    weights: packArray(datum.weights),
    ...(referenceLogprobs === undefined ? {} : { referenceLogprobs: packArray(referenceLogprobs) }),
    temperature: datum.temperature,
    rolloutId: datum.rolloutId,
    groupId: datum.groupId,
    minPolicyVersion: datum.minPolicyVersion,
    maxPolicyVersion: datum.maxPolicyVersion,
  };
}
