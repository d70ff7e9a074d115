import { create, createFileRegistry, fromBinary, type MessageInitShape, type MessageShape } from '@bufbuild/protobuf';
import { type FileDescriptorProto, FileDescriptorProtoSchema, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { ChannelCredentials, Client, Metadata, status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import {
  ServerReflection,
  ServerReflectionRequestSchema,
  type ServerReflectionResponseSchema,
} from '../src/gen/grpc/reflection/v1/reflection_pb.ts';
import { toMethodDefinition } from '../src/grpc/method-definition.ts';
import { serveGatedRuntime } from './serving-a-runtime.ts';

type Question = NonNullable<MessageInitShape<typeof ServerReflectionRequestSchema>['messageRequest']>;
type Answer = MessageShape<typeof ServerReflectionResponseSchema>['messageResponse'];

/** Sends several requests over one call. */
async function ask(address: string, questions: readonly Question[], key?: string): Promise<readonly Answer[]> {
  const client = new Client(address, ChannelCredentials.createInsecure());
  const metadata = new Metadata();
  if (key !== undefined) metadata.set('authorization', `Bearer ${key}`);
  const method = toMethodDefinition(ServerReflection.method.serverReflectionInfo);
  const { path, requestSerialize, responseDeserialize } = method;
  const call = client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize, metadata);
  const answers: Answer[] = [];
  try {
    for (const messageRequest of questions) call.write(create(ServerReflectionRequestSchema, { messageRequest }));
    call.end();
    const responses: AsyncIterable<MessageShape<typeof ServerReflectionResponseSchema>> = call;
    for await (const { messageResponse } of responses) answers.push(messageResponse);
    return answers;
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
    const [list, file] = await ask(server.address, [
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
    const answers = await ask(server.address, [
      { case: 'fileByFilename', value: 'agentlightning/runtime/v1/batch.proto' },
      { case: 'fileByFilename', value: 'nowhere.proto' },
      { case: 'fileContainingSymbol', value: 'no.such.Thing' },
      { case: 'allExtensionNumbersOfType', value: 'agentlightning.runtime.v1.Batch' },
    ]);
    expect(answers).toMatchObject([
      { case: 'fileDescriptorResponse' },
      { case: 'errorResponse', value: { errorCode: status.NOT_FOUND } },
      { case: 'errorResponse', value: { errorCode: status.NOT_FOUND } },
      { case: 'errorResponse', value: { errorCode: status.UNIMPLEMENTED } },
    ]);
  });

  it('requires the key like every other service', async () => {
    const { server } = await serveGatedRuntime({ apiKey: 'secret' });
    const question = [{ case: 'listServices', value: '' }] as const;
    await expect(ask(server.address, question)).rejects.toMatchObject({ code: status.UNAUTHENTICATED });
    expect(await ask(server.address, question, 'secret')).toHaveLength(1);
  });
});
