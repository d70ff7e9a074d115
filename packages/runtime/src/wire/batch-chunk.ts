import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { BatchChunkSchema } from '../gen/agentlightning/runtime/v1/batch_pb.ts';
import { SubmitBatchRequestSchema } from '../gen/agentlightning/runtime/v1/training_pb.ts';

const { chunk: chunkField } = SubmitBatchRequestSchema.field;
const { offset: offsetField, data: dataField } = BatchChunkSchema.field;

/** The most that {@link encodeChunk} needs besides the piece itself, in bytes. */
export const chunkHeadBytes: number = 32;

/** A serialised `SubmitBatchRequest` with a piece of the batch, in memory that is large enough for it. */
export function encodeChunk(offset: number, data: Uint8Array, memory: Uint8Array): Uint8Array {
  const head = new BinaryWriter();
  head.tag(offsetField.number, WireType.Varint).uint32(offset);
  head.tag(dataField.number, WireType.LengthDelimited).uint32(data.byteLength);
  const inner = head.finish();
  const outer = head
    .tag(chunkField.number, WireType.LengthDelimited)
    .uint32(inner.byteLength + data.byteLength)
    .finish();
  memory.set(outer);
  memory.set(inner, outer.byteLength);
  memory.set(data, outer.byteLength + inner.byteLength);
  return memory.subarray(0, outer.byteLength + inner.byteLength + data.byteLength);
}
