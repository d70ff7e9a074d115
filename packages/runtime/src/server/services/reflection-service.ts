import {
  createRegistry,
  type DescFile,
  type DescService,
  type MessageInitShape,
  type Registry,
  toBinary,
} from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import { Code, type ServiceImpl } from '@connectrpc/connect';
import type {
  ServerReflection,
  ServerReflectionRequest,
  ServerReflectionResponseSchema,
} from '../../gen/grpc/reflection/v1/reflection_pb.ts';

type ReflectionResponse = NonNullable<MessageInitShape<typeof ServerReflectionResponseSchema>['messageResponse']>;

/** gRPC's reflection service, for clients such as `grpcurl` without the contract's files. */
export function reflectionHandlers(services: readonly DescService[]): ServiceImpl<typeof ServerReflection> {
  const files = new Map(services.flatMap(({ file }) => withImports(file)).map((file) => [`${file.name}.proto`, file]));
  const registry = createRegistry(...files.values());
  return {
    serverReflectionInfo: async function* (requests) {
      for await (const request of requests) {
        yield { originalRequest: request, messageResponse: respond(request, { services, files, registry }) };
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

function respond({ messageRequest: query }: ServerReflectionRequest, known: Known): ReflectionResponse {
  switch (query.case) {
    case 'listServices':
      return {
        case: 'listServicesResponse',
        value: { service: known.services.map(({ typeName }) => ({ name: typeName })) },
      };
    case 'fileByFilename':
      return fileResponse(known.files.get(query.value), query.value);
    case 'fileContainingSymbol':
      return fileResponse(fileOfSymbol(query.value, known.registry), query.value);
    // The contract has no extensions.
    default:
      return errorResponse(Code.Unimplemented, `${query.case ?? 'nothing'} is not supported`);
  }
}

/** The file of a method, field or type. */
function fileOfSymbol(symbol: string, registry: Registry): DescFile | undefined {
  const owner = symbol.slice(0, Math.max(0, symbol.lastIndexOf('.')));
  return (registry.get(symbol) ?? registry.get(owner))?.file;
}

function fileResponse(file: DescFile | undefined, name: string): ReflectionResponse {
  if (file === undefined) return errorResponse(Code.NotFound, `${name} is unknown`);
  const fileDescriptorProto = withImports(file).map(({ proto }) => toBinary(FileDescriptorProtoSchema, proto));
  return { case: 'fileDescriptorResponse', value: { fileDescriptorProto } };
}

function errorResponse(errorCode: Code, errorMessage: string): ReflectionResponse {
  return { case: 'errorResponse', value: { errorCode, errorMessage } };
}

/** The file and its transitive imports, each once; itself first, as clients expect. */
function withImports(file: DescFile): readonly DescFile[] {
  return [...new Set([file, ...file.dependencies.flatMap(withImports)])];
}
