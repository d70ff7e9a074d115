import { Crc32c } from '@aws-crypto/crc32c';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';

/** A value of an event file. */
export type EventValue =
  | { readonly tag: string; readonly scalar: number }
  /** Markdown, shown by the plug-in for text. */
  | { readonly tag: string; readonly text: string };

/** An event of TensorBoard. */
export interface TensorBoardEvent {
  /** Unix milliseconds. */
  readonly timeMs: number;
  readonly step: number;
  readonly values: readonly EventValue[];
}

/** The first record of an event file. */
export function headerRecord(timeMs: number): Uint8Array {
  return frame(eventWriter(timeMs, 0).tag(3, WireType.LengthDelimited).string('brain.Event:2').finish());
}

/** An event as a record of a TFRecord file, with the fields of TensorFlow's `event.proto` and `summary.proto`. */
export function eventRecord({ timeMs, step, values }: TensorBoardEvent): Uint8Array {
  const summary = new BinaryWriter();
  for (const value of values) summary.tag(1, WireType.LengthDelimited).bytes(summaryValue(value));
  return frame(eventWriter(timeMs, step).tag(5, WireType.LengthDelimited).bytes(summary.finish()).finish());
}

/** An event with its time and its step; 0 is the default of the field and not written. */
function eventWriter(timeMs: number, step: number): BinaryWriter {
  const writer = new BinaryWriter().tag(1, WireType.Bit64).double(timeMs / 1000);
  return step === 0 ? writer : writer.tag(2, WireType.Varint).int64(step);
}

function summaryValue(value: EventValue): Uint8Array {
  const writer = new BinaryWriter().tag(1, WireType.LengthDelimited).string(value.tag);
  if ('scalar' in value) return writer.tag(2, WireType.Bit32).float(value.scalar).finish();
  writer.tag(8, WireType.LengthDelimited).bytes(textTensor(value.text));
  return writer.tag(9, WireType.LengthDelimited).bytes(textMetadata()).finish();
}

/** `DataType.DT_STRING` of TensorFlow. */
const stringType = 7;

/** A tensor of one string. */
function textTensor(text: string): Uint8Array {
  const dimension = new BinaryWriter().tag(1, WireType.Varint).int64(1).finish();
  const shape = new BinaryWriter().tag(2, WireType.LengthDelimited).bytes(dimension).finish();
  const writer = new BinaryWriter().tag(1, WireType.Varint).int32(stringType);
  writer.tag(2, WireType.LengthDelimited).bytes(shape);
  return writer.tag(8, WireType.LengthDelimited).string(text).finish();
}

function textMetadata(): Uint8Array {
  const plugin = new BinaryWriter().tag(1, WireType.LengthDelimited).string('text').finish();
  return new BinaryWriter().tag(1, WireType.LengthDelimited).bytes(plugin).finish();
}

/** A record of a TFRecord file: length, its checksum, data, its checksum. */
function frame(data: Uint8Array): Uint8Array {
  const record = Buffer.alloc(16 + data.length);
  record.writeBigUInt64LE(BigInt(data.length), 0);
  record.writeUInt32LE(maskedChecksum(record.subarray(0, 8)), 8);
  record.set(data, 12);
  record.writeUInt32LE(maskedChecksum(data), 12 + data.length);
  return record;
}

/** CRC-32C, rotated and offset as the TFRecord format defines it. */
function maskedChecksum(data: Uint8Array): number {
  const checksum = new Crc32c().update(data).digest();
  return (((checksum >>> 15) | (checksum << 17)) + 0xa282ead8) >>> 0;
}
