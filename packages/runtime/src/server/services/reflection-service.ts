import {
  createRegistry,
  type DescFile,
  type DescService,
  type MessageInitShape,
  type Registry,
  toBinary,
} from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import { status } from '@grpc/grpc-js';
import type {
  ServerReflection,
  ServerReflectionRequest,
  ServerReflectionResponseSchema,
} from '../../gen/grpc/reflection/v1/reflection_pb.ts';
import type { ServiceHandlers } from '../../grpc/service-handlers.ts';

type Answer = NonNullable<MessageInitShape<typeof ServerReflectionResponseSchema>['messageResponse']>;

/** gRPC's reflection service, for clients such as `grpcurl` without the contract's files. */
export function reflectionHandlers(
  services: readonly DescService[],
): ServiceHandlers<(typeof ServerReflection)['method']> {
  const files = new Map(services.flatMap(({ file }) => withImports(file)).map((file) => [`${file.name}.proto`, file]));
  const registry = createRegistry(...files.values());
  return {
    serverReflectionInfo: async function* (requests) {
      for await (const request of requests) {
        yield { originalRequest: request, messageResponse: answer(request, { services, files, registry }) };
      }
    },
  };
}

interface Known {
  readonly services: readonly DescService[];
  /** By file name, including `.proto`. */
  readonly files: ReadonlyMap<string, DescFile>;
  readonly registry: Registry;
}

function answer({ messageRequest: asked }: ServerReflectionRequest, known: Known): Answer {
  switch (asked.case) {
    case 'listServices':
      return {
        case: 'listServicesResponse',
        value: { service: known.services.map(({ typeName }) => ({ name: typeName })) },
      };
    case 'fileByFilename':
      return answerWith(known.files.get(asked.value), asked.value);
    case 'fileContainingSymbol':
      return answerWith(fileOfSymbol(asked.value, known.registry), asked.value);
    // The contract has no extensions.
    default:
      return refusal(status.UNIMPLEMENTED, `${asked.case ?? 'nothing'} is not supported`);
  }
}

/** The file of a method, field or type. */
function fileOfSymbol(symbol: string, registry: Registry): DescFile | undefined {
  const owner = symbol.slice(0, Math.max(0, symbol.lastIndexOf('.')));
  return (registry.get(symbol) ?? registry.get(owner))?.file;
}

function answerWith(file: DescFile | undefined, name: string): Answer {
  if (file === undefined) return refusal(status.NOT_FOUND, `${name} is unknown`);
  const fileDescriptorProto = withImports(file).map(({ proto }) => toBinary(FileDescriptorProtoSchema, proto));
  return { case: 'fileDescriptorResponse', value: { fileDescriptorProto } };
}

function refusal(errorCode: status, errorMessage: string): Answer {
  return { case: 'errorResponse', value: { errorCode, errorMessage } };
}

/** The file and its transitive imports, each once; itself first, as clients expect. */
function withImports(file: DescFile): readonly DescFile[] {
  return [...new Set([file, ...file.dependencies.flatMap(withImports)])];
}
