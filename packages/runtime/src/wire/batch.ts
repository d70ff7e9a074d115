import { ValidationError } from '@agentlightning/core';
import { errorMessage } from '@agentlightning/core/internal';
import type { TrainingBatch, TrainingDatum } from '@agentlightning/core/training-runtime';
import { create, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { BatchSchema, type Datum, type DatumSchema } from '../gen/agentlightning/runtime/v1/batch_pb.ts';
import { BatchImages } from './batch-images.ts';
import { gathered, spread } from './interval-column.ts';
import { ColumnMemory, packArray, unpackFloat32, unpackInt32 } from './packed-array.ts';

/** A batch ready for upload. */
export interface EncodedBatch {
  /** The serialised `Batch`. */
  readonly payload: Uint8Array;
  readonly datumCount: number;
  readonly tokenCount: number;
  /** Maximum age of the data in policy versions. Undefined: unlimited. */
  readonly maxVersionLag: number | undefined;
}

/**
 * Serialises a batch: packed little-endian arrays in a protobuf message.
 *
 * @throws ValidationError when a number is out of the range of its field
 * @example
 * ```ts
 * const { payload, tokenCount } = encodeBatch({ data: [datum] });
 * console.log(payload.byteLength / tokenCount, 'bytes per token');
 * ```
 */
export function encodeBatch(batch: TrainingBatch): EncodedBatch {
  const images = new BatchImages();
  const data = batch.data.map((datum) => datumMessage(datum, images));
  return {
    payload: serialise(create(BatchSchema, { data, images: images.files })),
    datumCount: batch.data.length,
    tokenCount: batch.data.reduce((sum, datum) => sum + datum.tokenIds.length, 0),
    maxVersionLag: batch.maxVersionLag,
  };
}

function serialise(batch: Parameters<typeof toBinary<typeof BatchSchema>>[1]): Uint8Array {
  try {
    return toBinary(BatchSchema, batch);
  } catch (cause) {
    const message = errorMessage(cause);
    throw new ValidationError('training batch', [{ path: 'data', message }], cause);
  }
}

/** The fields of a datum; its arrays are views. */
function datumMessage(datum: TrainingDatum, images: BatchImages): MessageInitShape<typeof DatumSchema> {
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
    images: (datum.images ?? []).map((url) => images.indexOf(url)),
    temperature: datum.temperature,
    rolloutId: datum.rolloutId,
    groupId: datum.groupId,
    minPolicyVersion: datum.minPolicyVersion,
    maxPolicyVersion: datum.maxPolicyVersion,
  };
}

/** The messages of a serialised batch; their arrays are unvalidated bytes. */
export function decodeBatch(payload: Uint8Array): readonly Datum[] {
  return fromBinary(BatchSchema, payload).data;
}

/**
 * Decodes the arrays of one datum. Lengths in bytes must be multiples of four.
 * @param memory - allocator of the arrays. Default: separate memory
 */
export function decodeDatum(datum: Datum, memory: ColumnMemory = new ColumnMemory()): TrainingDatum {
  const { referenceLogprobs, valueTargets, samplingValues } = datum;
  const float32 = (bytes: Uint8Array): Float32Array => unpackFloat32(bytes, memory);
  return {
    tokenIds: unpackInt32(datum.tokenIds, memory),
    trained: datum.trained.map(({ start, end }) => ({ start, end })),
    samplingLogprobs: float32(datum.samplingLogprobs),
    advantages: spread(float32(datum.advantages), datum, memory),
    weights: spread(float32(datum.weights), datum, memory),
    ...(referenceLogprobs === undefined ? {} : { referenceLogprobs: float32(referenceLogprobs) }),
    ...(valueTargets === undefined ? {} : { valueTargets: float32(valueTargets) }),
    ...(samplingValues === undefined ? {} : { samplingValues: float32(samplingValues) }),
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
