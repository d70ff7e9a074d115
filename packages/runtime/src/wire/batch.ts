import type { TrainingBatch, TrainingDatum } from '@agentlightning/core';
import { fromBinary } from '@bufbuild/protobuf';
import { BatchSchema, type Datum } from '../gen/agentlightning/runtime/v1/batch_pb.ts';
import { entryLength, layOut, writeEntry } from './datum-layout.ts';
import { FieldWriter } from './field-writer.ts';
import { spread } from './interval-column.ts';
import { ColumnMemory, unpackFloat32, unpackInt32 } from './packed-array.ts';

/** Gives memory of at least so many bytes. */
type TakeMemory = (byteLength: number) => Uint8Array;

/** A batch ready to be uploaded. */
export interface EncodedBatch {
  /** The serialised `Batch`. */
  readonly payload: Uint8Array;
  /** What the payload lies in. */
  readonly memory: Uint8Array;
  readonly datumCount: number;
  readonly tokenCount: number;
  /** How old the data may be, in policy versions. Undefined: as old as they are. */
  readonly maxVersionLag: number | undefined;
}

/**
 * Serialises a batch: packed little-endian arrays in a protobuf message.
 *
 * @param take - gives the memory for the payload. Defaults to fresh memory
 * @throws ValidationError when a number is not what the contract has in its place
 * @example
 * ```ts
 * const { payload, tokenCount } = encodeBatch({ data: [datum] });
 * console.log(payload.byteLength / tokenCount, 'bytes a token');
 * ```
 */
export function encodeBatch(batch: TrainingBatch, take: TakeMemory = Buffer.allocUnsafe): EncodedBatch {
  const entries = batch.data.map(layOut);
  const memory = take(entries.reduce((sum, entry) => sum + entryLength(entry), 0));
  const writer = new FieldWriter(memory);
  for (const entry of entries) writeEntry(entry, writer);
  return {
    payload: memory.subarray(0, writer.byteLength),
    memory,
    datumCount: batch.data.length,
    tokenCount: batch.data.reduce((sum, datum) => sum + datum.tokenIds.length, 0),
    maxVersionLag: batch.maxVersionLag,
  };
}

/** The messages of a serialised batch; their arrays are unchecked bytes yet. */
export function decodeBatch(payload: Uint8Array): readonly Datum[] {
  return fromBinary(BatchSchema, payload).data;
}

/**
 * One datum with its arrays unpacked. Lengths in bytes must be multiples of four.
 * @param memory - where the arrays lie. Defaults to memory of their own
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
