import { create, createFileRegistry, type DescMessage } from '@bufbuild/protobuf';
import {
  FileDescriptorProtoSchema,
  FieldDescriptorProto_Label as Label,
  FieldDescriptorProto_Type as Type,
} from '@bufbuild/protobuf/wkt';

const file = create(FileDescriptorProtoSchema, {
  name: 'repeated.proto',
  package: 'benchmark',
  syntax: 'proto3',
  messageType: [
    {
      name: 'Batch',
      field: [{ name: 'data', number: 1, label: Label.REPEATED, type: Type.MESSAGE, typeName: '.benchmark.Datum' }],
    },
    {
      name: 'Datum',
      field: [
        { name: 'token_ids', number: 1, label: Label.REPEATED, type: Type.INT32 },
        // Pairs of start and end.
        { name: 'trained', number: 2, label: Label.REPEATED, type: Type.UINT32 },
        { name: 'sampling_logprobs', number: 3, label: Label.REPEATED, type: Type.FLOAT },
        { name: 'advantages', number: 4, label: Label.REPEATED, type: Type.FLOAT },
        { name: 'weights', number: 5, label: Label.REPEATED, type: Type.FLOAT },
        { name: 'rollout_id', number: 8, label: Label.OPTIONAL, type: Type.STRING },
        { name: 'group_id', number: 9, label: Label.OPTIONAL, type: Type.STRING },
      ],
    },
  ],
});

/** A straightforward schema: a `repeated` field for every column, with proto3's packing. */
export const repeatedBatch: DescMessage = messageNamed('benchmark.Batch');

function messageNamed(name: string): DescMessage {
  const message = createFileRegistry(file, () => undefined).getMessage(name);
  if (message === undefined) throw new TypeError(`The benchmark's schema has no message ${name}`);
  return message;
}

/** Path of the receiving method. */
export const repeatedPath = '/benchmark.Receiver/Send';

/** Size of the chunks in bytes, as in the contract. */
export const chunkBytes: number = 1024 * 1024;
