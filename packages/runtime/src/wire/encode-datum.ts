import type { TrainingDatum } from '@agentlightning/core';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { DatumSchema, TrainedSpanSchema } from '../gen/agentlightning/runtime/v1/batch_pb.ts';
import { gathered } from './interval-column.ts';
import { packArray } from './packed-array.ts';

const { field } = DatumSchema;
const { start: startField, end: endField } = TrainedSpanSchema.field;

/**
 * A serialised `Datum`, written field by field: a million tokens come in hundreds of these, and whoever sends them has
 * an event loop with other things to do.
 *
 * @throws Error when a number is not what the contract has in its place
 */
export function encodeDatum(datum: TrainingDatum): Uint8Array {
  const writer = new BinaryWriter();
  writeBytes(writer, 'tokenIds', packArray(datum.tokenIds));
  for (const { start, end } of datum.trained) {
    writer.tag(field.trained.number, WireType.LengthDelimited).fork();
    writer.tag(startField.number, WireType.Varint).uint32(start);
    writer.tag(endField.number, WireType.Varint).uint32(end).join();
  }
  writeBytes(writer, 'samplingLogprobs', packArray(datum.samplingLogprobs));
  writeBytes(writer, 'advantages', packArray(gathered(datum.advantages, datum)));
  writeBytes(writer, 'weights', packArray(gathered(datum.weights, datum)));
  for (const name of ['referenceLogprobs', 'valueTargets', 'samplingValues'] as const) {
    const column = datum[name];
    if (column !== undefined) writeBytes(writer, name, packArray(column));
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

function writeBytes(writer: BinaryWriter, name: keyof typeof field, bytes: Uint8Array): void {
  writer.tag(field[name].number, WireType.LengthDelimited).bytes(bytes);
}
