import { type TrainingDatum, ValidationError } from '@agentlightning/core';
import { BatchSchema, DatumSchema, TrainedSpanSchema } from '../gen/agentlightning/runtime/v1/batch_pb.ts';
import { type FieldWriter, fieldLength, varintLength } from './field-writer.ts';
import { gathered } from './interval-column.ts';
import { packArray } from './packed-array.ts';

const { data: dataField } = BatchSchema.field;
const { field } = DatumSchema;
const { start: startField, end: endField } = TrainedSpanSchema.field;

/** A field whose content is bytes: the datum's own memory, which is copied once, to where it is sent from. */
interface Column {
  readonly number: number;
  readonly bytes: Uint8Array;
}

/** One entry of `Batch.data` before it is written. */
export interface DatumLayout {
  readonly datum: TrainingDatum;
  readonly columns: readonly Column[];
  readonly rolloutIdBytes: number;
  readonly groupIdBytes: number;
  /** Length of the serialised `Datum`. */
  readonly contentBytes: number;
}

/**
 * Measures a datum, so that a whole batch can be written to memory that is asked for once. Whoever sends a million tokens
 * has an event loop with other things to do.
 *
 * @throws ValidationError when a number is not what the contract has in its place
 */
export function layOut(datum: TrainingDatum): DatumLayout {
  const columns = columnsOf(datum);
  const [rolloutIdBytes, groupIdBytes] = [Buffer.byteLength(datum.rolloutId), Buffer.byteLength(datum.groupId)];
  let contentBytes = fieldLength(field.rolloutId.number, rolloutIdBytes);
  contentBytes += fieldLength(field.groupId.number, groupIdBytes);
  for (const { number, bytes } of columns) contentBytes += fieldLength(number, bytes.byteLength);
  for (const span of datum.trained) contentBytes += fieldLength(field.trained.number, spanLength(span));
  contentBytes += varintLength(field.temperature.number << 3) + 8;
  contentBytes += uint32Length(field.minPolicyVersion, datum.minPolicyVersion);
  contentBytes += uint32Length(field.maxPolicyVersion, datum.maxPolicyVersion);
  return { datum, columns, rolloutIdBytes, groupIdBytes, contentBytes };
}

/** Length of a laid out datum as an entry of `Batch.data`. */
export function entryLength({ contentBytes }: DatumLayout): number {
  return fieldLength(dataField.number, contentBytes);
}

/** Writes a datum as an entry of `Batch.data`. */
export function writeEntry({ datum, columns, contentBytes, ...layout }: DatumLayout, writer: FieldWriter): void {
  writer.head(dataField.number, contentBytes);
  for (const { number, bytes } of columns) writer.bytes(number, bytes);
  for (const span of datum.trained) {
    writer.head(field.trained.number, spanLength(span));
    writer.uint32(startField.number, span.start);
    writer.uint32(endField.number, span.end);
  }
  writer.double(field.temperature.number, datum.temperature);
  writer.text(field.rolloutId.number, datum.rolloutId, layout.rolloutIdBytes);
  writer.text(field.groupId.number, datum.groupId, layout.groupIdBytes);
  writer.uint32(field.minPolicyVersion.number, datum.minPolicyVersion);
  writer.uint32(field.maxPolicyVersion.number, datum.maxPolicyVersion);
}

function columnsOf(datum: TrainingDatum): Column[] {
  const { referenceLogprobs, valueTargets, samplingValues } = datum;
  const columns: Column[] = [
    columnOf(field.tokenIds, datum.tokenIds),
    columnOf(field.samplingLogprobs, datum.samplingLogprobs),
    columnOf(field.advantages, gathered(datum.advantages, datum)),
    columnOf(field.weights, gathered(datum.weights, datum)),
  ];
  if (referenceLogprobs !== undefined) columns.push(columnOf(field.referenceLogprobs, referenceLogprobs));
  if (valueTargets !== undefined) columns.push(columnOf(field.valueTargets, valueTargets));
  if (samplingValues !== undefined) columns.push(columnOf(field.samplingValues, samplingValues));
  return columns;
}

function columnOf({ number }: { readonly number: number }, numbers: Float32Array | Int32Array): Column {
  return { number, bytes: packArray(numbers) };
}

function spanLength({ start, end }: TrainingDatum['trained'][number]): number {
  return uint32Length(startField, start) + uint32Length(endField, end);
}

function uint32Length({ number, name }: { readonly number: number; readonly name: string }, value: number): number {
  if (!Number.isInteger(value) || value < 0 || value > 0xffff_ffff) {
    const message = `is ${value}; it must be a whole number from 0 to ${0xffff_ffff}`;
    throw new ValidationError('training datum', [{ path: name, message }]);
  }
  return varintLength(number << 3) + varintLength(value);
}
