import { type DescMessage, type DescMethod, fromBinary, type MessageShape, toBinary } from '@bufbuild/protobuf';
import type { MethodDefinition } from '@grpc/grpc-js';

/** Converts a method of a protobuf-es service to grpc-js's definition. */
export function toMethodDefinition<TInput extends DescMessage, TOutput extends DescMessage>(
  method: DescMethod & { readonly input: TInput; readonly output: TOutput },
): MethodDefinition<MessageShape<TInput>, MessageShape<TOutput>> {
  const { methodKind } = method;
  return {
    path: `/${method.parent.typeName}/${method.name}`,
    requestStream: methodKind === 'client_streaming' || methodKind === 'bidi_streaming',
    responseStream: methodKind === 'server_streaming' || methodKind === 'bidi_streaming',
    requestSerialize: (message) => toBuffer(toBinary(method.input, message)),
    requestDeserialize: (bytes) => fromBinary(method.input, bytes),
    responseSerialize: (message) => toBuffer(toBinary(method.output, message)),
    responseDeserialize: (bytes) => fromBinary(method.output, bytes),
  };
}

/** The same memory as a Buffer, without a copy. */
function toBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
