import {
  create,
  createFileRegistry,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf';
import { type FileDescriptorProto, FileDescriptorProtoSchema, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { ChannelCredentials, Client, Metadata, status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import {
  ServerReflection,
  ServerReflectionRequestSchema,
  ServerReflectionResponseSchema,
} from '../src/gen/grpc/reflection/v1/reflection_pb.ts';
import { serveGatedRuntime } from './serving-a-runtime.ts';

type Query = NonNullable<MessageInitShape<typeof ServerReflectionRequestSchema>['messageRequest']>;
type Received = MessageShape<typeof ServerReflectionResponseSchema>['messageResponse'];

/** Sends several requests over one call. */
async function reflect(address: string, queries: readonly Query[], key?: string): Promise<readonly Received[]> {
  const client = new Client(address, ChannelCredentials.createInsecure());
  const metadata = new Metadata();
  if (key !== undefined) metadata.set('authorization', `Bearer ${key}`);
  const call = client.makeBidiStreamRequest(
    `/${ServerReflection.typeName}/ServerReflectionInfo`,
    (request: MessageShape<typeof ServerReflectionRequestSchema>) =>
      Buffer.from(toBinary(ServerReflectionRequestSchema, request)),
    (bytes) => fromBinary(ServerReflectionResponseSchema, bytes),
    metadata,
  );
  const received: Received[] = [];
  try {
    for (const messageRequest of queries) call.write(create(ServerReflectionRequestSchema, { messageRequest }));
    call.end();
    const responses: AsyncIterable<MessageShape<typeof ServerReflectionResponseSchema>> = call;
    for await (const { messageResponse } of responses) received.push(messageResponse);
    return received;
  } finally {
    client.close();
  }
}

/** Files after their imports, as in a file set. */
function importsFirst(files: readonly FileDescriptorProto[]): readonly FileDescriptorProto[] {
  const placed = new Map<string, FileDescriptorProto>();
  for (let before = -1; placed.size > before; ) {
    before = placed.size;
    const ready = files.filter(({ dependency }) => dependency.every((name) => placed.has(name)));
    for (const file of ready) placed.set(file.name, file);
  }
  expect(placed.size).toBe(files.length);
  return [...placed.values()];
}

describe('reflection', () => {
  it('lists the services, and the files that a client needs to call one', async () => {
    const { server } = await serveGatedRuntime();
    const [list, file] = await reflect(server.address, [
      { case: 'listServices', value: '' },
      { case: 'fileContainingSymbol', value: 'agentlightning.runtime.v1.TrainingService.OptimStep' },
    ]);
    const names = list?.case === 'listServicesResponse' ? list.value.service.map(({ name }) => name) : [];
    expect(names).toContain('agentlightning.runtime.v1.TrainingService');
    expect(names).toContain('grpc.health.v1.Health');
    const bytes = file?.case === 'fileDescriptorResponse' ? file.value.fileDescriptorProto : [];
    const descriptors = bytes.map((each) => fromBinary(FileDescriptorProtoSchema, each));
    expect(descriptors[0]?.name).toBe('agentlightning/runtime/v1/training.proto');
    const registry = createFileRegistry(create(FileDescriptorSetSchema, { file: [...importsFirst(descriptors)] }));
    const service = registry.getService('agentlightning.runtime.v1.TrainingService');
    expect(service?.method['optimStep']?.input.typeName).toBe('agentlightning.runtime.v1.OptimStepRequest');
  });

  it('finds files by name, and reports unknown ones', async () => {
    const { server } = await serveGatedRuntime();
    const responses = await reflect(server.address, [
      { case: 'fileByFilename', value: 'agentlightning/runtime/v1/batch.proto' },
      { case: 'fileByFilename', value: 'nowhere.proto' },
      { case: 'fileContainingSymbol', value: 'no.such.Thing' },
      { case: 'allExtensionNumbersOfType', value: 'agentlightning.runtime.v1.Batch' },
    ]);
    expect(responses).toMatchObject([
      { case: 'fileDescriptorResponse' },
      { case: 'errorResponse', value: { errorCode: status.NOT_FOUND } },
      { case: 'errorResponse', value: { errorCode: status.NOT_FOUND } },
      { case: 'errorResponse', value: { errorCode: status.UNIMPLEMENTED } },
    ]);
  });

  it('requires the key like every other service', async () => {
    const { server } = await serveGatedRuntime({ apiKey: 'secret' });
    const query = [{ case: 'listServices', value: '' }] as const;
    await expect(reflect(server.address, query)).rejects.toMatchObject({ code: status.UNAUTHENTICATED });
    expect(await reflect(server.address, query, 'secret')).toHaveLength(1);
  });
});
