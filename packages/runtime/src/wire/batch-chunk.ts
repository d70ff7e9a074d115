import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { BatchChunkSchema } from '../gen/agentlightning/runtime/v1/batch_pb.ts';
import { SubmitBatchRequestSchema } from '../gen/agentlightning/runtime/v1/training_pb.ts';

const { chunk: chunkField } = SubmitBatchRequestSchema.field;
const { offset: offsetField, data: dataField } = BatchChunkSchema.field;

/** A serialised `SubmitBatchRequest` with a piece of the batch, which is copied once. */
export function encodeChunk(offset: number, data: Uint8Array): Uint8Array {
  const head = new BinaryWriter();
  head.tag(offsetField.number, WireType.Varint).uint32(offset);
  head.tag(dataField.number, WireType.LengthDelimited).uint32(data.byteLength);
  const inner = head.finish();
  const frame = new BinaryWriter().tag(chunkField.number, WireType.LengthDelimited);
  return Buffer.concat([frame.uint32(inner.byteLength + data.byteLength).finish(), inner, data]);
}
