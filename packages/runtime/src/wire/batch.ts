import { createHash } from 'node:crypto';
import type { TrainingBatch, TrainingDatum } from '@agentlightning/core';
import { create, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { BatchSchema, type Datum, type DatumSchema } from '../gen/agentlightning/runtime/v1/batch_pb.ts';
import { gathered, spread } from './interval-column.ts';
import { packArray, unpackFloat32, unpackInt32 } from './packed-array.ts';

/** A batch ready to be uploaded. */
export interface EncodedBatch {
  /** The serialised `Batch`. */
  readonly payload: Uint8Array;
  /** Of the payload, 32 bytes. */
  readonly sha256: Uint8Array;
  readonly datumCount: number;
  readonly tokenCount: number;
  /** How old the data may be, in policy versions. Undefined: as old as they are. */
  readonly maxVersionLag: number | undefined;
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
    maxVersionLag: batch.maxVersionLag,
    tokenCount: batch.data.reduce((sum, datum) => sum + datum.tokenIds.length, 0),
  };
}

/** The messages of a serialised batch; their arrays are unchecked bytes yet. */
export function decodeBatch(payload: Uint8Array): readonly Datum[] {
  return fromBinary(BatchSchema, payload).data;
}

/** One datum with its arrays unpacked. Lengths in bytes must be multiples of four. */
export function decodeDatum(datum: Datum): TrainingDatum {
  const { referenceLogprobs, valueTargets, samplingValues } = datum;
  return {
    tokenIds: unpackInt32(datum.tokenIds),
    trained: datum.trained.map(({ start, end }) => ({ start, end })),
    samplingLogprobs: unpackFloat32(datum.samplingLogprobs),
    advantages: spread(unpackFloat32(datum.advantages), datum),
    weights: spread(unpackFloat32(datum.weights), datum),
    ...(referenceLogprobs === undefined ? {} : { referenceLogprobs: unpackFloat32(referenceLogprobs) }),
    ...(valueTargets === undefined ? {} : { valueTargets: unpackFloat32(valueTargets) }),
    ...(samplingValues === undefined ? {} : { samplingValues: unpackFloat32(samplingValues) }),
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
  const { referenceLogprobs, valueTargets, samplingValues } = datum;
  return {
    tokenIds: packArray(datum.tokenIds),
    trained: datum.trained.map(({ start, end }) => ({ start, end })),
    samplingLogprobs: packArray(datum.samplingLogprobs),
    advantages: packArray(gathered(datum.advantages, datum)),
    weights: packArray(gathered(datum.weights, datum)),
    ...(referenceLogprobs === undefined ? {} : { referenceLogprobs: packArray(referenceLogprobs) }),
    ...(valueTargets === undefined ? {} : { valueTargets: packArray(valueTargets) }),
    ...(samplingValues === undefined ? {} : { samplingValues: packArray(samplingValues) }),
    temperature: datum.temperature,
    rolloutId: datum.rolloutId,
    groupId: datum.groupId,
    minPolicyVersion: datum.minPolicyVersion,
    maxPolicyVersion: datum.maxPolicyVersion,
  };
}
