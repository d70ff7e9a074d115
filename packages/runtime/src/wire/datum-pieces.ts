import type { TrainingDatum } from '@agentlightning/core';
import { type BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { BatchSchema, DatumSchema, TrainedSpanSchema } from '../gen/agentlightning/runtime/v1/batch_pb.ts';
import { gathered } from './interval-column.ts';
import { packArray } from './packed-array.ts';

const { data: dataField } = BatchSchema.field;
const { field } = DatumSchema;
const { start: startField, end: endField } = TrainedSpanSchema.field;

/**
 * The bytes of one entry of `Batch.data`, in pieces. The large ones are the datum's own memory: they are copied once,
 * when all pieces of a batch are put together. Whoever sends a million tokens has an event loop with other things to do.
 *
 * @param writer - for the small fields; one for all data of a batch, since making it is most of the work
 * @throws Error when a number is not what the contract has in its place
 */
export function datumPieces(datum: TrainingDatum, writer: BinaryWriter): readonly Uint8Array[] {
  const columns = columnsOf(datum).flatMap(([number, bytes]) => [lengthHead(number, bytes.byteLength), bytes]);
  const content = [...columns, smallFields(datum, writer)];
  const length = content.reduce((sum, { byteLength }) => sum + byteLength, 0);
  return [lengthHead(dataField.number, length), ...content];
}

function columnsOf(datum: TrainingDatum): readonly (readonly [number: number, bytes: Uint8Array])[] {
  const { referenceLogprobs, valueTargets, samplingValues } = datum;
  const columns = [
    [field.tokenIds, datum.tokenIds],
    [field.samplingLogprobs, datum.samplingLogprobs],
    [field.advantages, gathered(datum.advantages, datum)],
    [field.weights, gathered(datum.weights, datum)],
    [field.referenceLogprobs, referenceLogprobs],
    [field.valueTargets, valueTargets],
    [field.samplingValues, samplingValues],
  ] as const;
  return columns.flatMap(([{ number }, column]) =>
    column === undefined ? [] : [[number, packArray(column)] as const],
  );
}

function smallFields(datum: TrainingDatum, writer: BinaryWriter): Uint8Array {
  for (const { start, end } of datum.trained) {
    writer.tag(field.trained.number, WireType.LengthDelimited).fork();
    writer.tag(startField.number, WireType.Varint).uint32(start);
    writer.tag(endField.number, WireType.Varint).uint32(end).join();
  }
  writer.tag(field.temperature.number, WireType.Bit64).double(datum.temperature);
  for (const name of ['rolloutId', 'groupId'] as const) {
    writer.tag(field[name].number, WireType.LengthDelimited).string(datum[name]);
  }
  for (const name of ['minPolicyVersion', 'maxPolicyVersion'] as const) {
    writer.tag(field[name].number, WireType.Varint).uint32(datum[name]);
  }
  return writer.finish();
}

/** Tag and length of a field whose content follows, by hand: a writer for each of thousands would cost more than they. */
function lengthHead(number: number, byteLength: number): Uint8Array {
  const bytes: number[] = [];
  for (let value of [(number << 3) | WireType.LengthDelimited, byteLength]) {
    for (; value > 0x7f; value >>>= 7) bytes.push((value & 0x7f) | 0x80);
    bytes.push(value);
  }
  return Uint8Array.from(bytes);
}
