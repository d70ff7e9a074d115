import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { BatchUploads } from '../src/client/batch-uploads.ts';
import { BufferPool } from '../src/client/buffer-pool.ts';
import type { ChannelSettings } from '../src/client/open-channel.ts';
import { UploadThread } from '../src/client/upload-thread.ts';
import { OperationState } from '../src/gen/agentlightning/runtime/v1/operation_pb.ts';
import { RuntimeError, type ServeRuntimeOptions } from '../src/index.ts';
import { aBatch, aDatum, WireProxy } from '../src/testing/index.ts';
import { classifyCallError } from '../src/wire/grpc-error.ts';
import { serveGatedRuntime } from './serving-a-runtime.ts';
import { type SessionAndModel, sessionAndModel } from './threads/session-and-model.ts';

const loss = { name: 'importance_sampling', parameters: {} };
const pem = (name: string): Promise<string> =>
  readFile(new URL(`./tls/test-only-${name}.pem`, import.meta.url), 'utf8');

interface Wish {
  readonly program?: URL;
  readonly settings?: Partial<ChannelSettings>;
}

function aThread(address: string, { program, settings }: Wish = {}): UploadThread {
  const thread = new UploadThread({ address, apiKey: undefined, tls: null, options: {}, ...settings }, program);
  onTestFinished(() => thread.close());
  return thread;
}

async function aSession(address: string, apiKey?: string): Promise<SessionAndModel> {
  const session = await sessionAndModel(address, apiKey);
  onTestFinished(() => session.client.close());
  return session;
}

/** What a failed call was, as the rest of the client sees it. */
async function failureOf(call: Promise<unknown>): Promise<ReturnType<typeof classifyCallError>> {
  return call.then(
    () => expect.fail('the call was to fail'),
    (error: unknown) => classifyCallError(error),
  );
}

describe('a thread that sends', () => {
  it('has the answer of the runtime, the same when it sends again', async () => {
    const { server } = await serveGatedRuntime();
    const { model, upload } = await aSession(server.address);
    const thread = aThread(server.address);
    for (const answer of [await thread.upload(upload), await thread.upload(upload)]) {
      expect(answer?.operation).toMatchObject({ seq: 1, modelId: 'model' });
    }
    expect((await model.ended(1)).state).toBe(OperationState.SUCCEEDED);
  });

  it('shows its key', async () => {
    const { server } = await serveGatedRuntime({ apiKey: 'secret' });
    const { upload } = await aSession(server.address, 'secret');
    const known = aThread(server.address, { settings: { apiKey: 'secret' } });
    expect((await known.upload(upload))?.operation?.seq).toBe(1);
    const stranger = aThread(server.address, { settings: { apiKey: 'guess' } });
    expect(await failureOf(stranger.upload(upload))).toMatchObject({ error: { code: 'UNAUTHENTICATED' } });
  });

  it('encrypts, and shows its certificate', async () => {
    const [authority, certificate, privateKey] = await Promise.all(['authority', 'server', 'server-key'].map(pem));
    const client = { certificate: await pem('client'), privateKey: await pem('client-key') };
    const tls = { certificate: certificate ?? '', privateKey: privateKey ?? '', clientAuthority: authority ?? '' };
    const { server, connect } = await serveGatedRuntime({ tls });
    const options = { address: `localhost:${server.port}`, rootCertificates: authority ?? '' };
    const runtime = await connect({ ...options, clientCertificate: client, uploadThreadFromBytes: 0 });
    const model = await runtime.createModel({ baseModel: 'bag', modelId: 'model', seed: 1 });
    const { result } = await model.forwardBackward(aBatch([1]), loss);
    expect(await result).toMatchObject({ trainedTokens: 6 });
    const naked = aThread(options.address, { settings: { tls: { rootCertificates: authority } } });
    const upload = { header: {}, payload: new Uint8Array(1) };
    expect(await failureOf(naked.upload(upload))).toMatchObject({ kind: 'transport' });
  });

  it('says that the connection was lost when it was', async () => {
    const { server } = await serveGatedRuntime();
    const { upload } = await aSession(server.address);
    const proxy = await WireProxy.open(server.address);
    onTestFinished(() => proxy.close());
    proxy.cutAfter(100);
    const thread = aThread(proxy.address);
    expect(await failureOf(thread.upload(upload))).toMatchObject({ kind: 'transport' });
    await expect.poll(() => thread.upload(upload).catch(() => null)).toMatchObject({ operation: { seq: 1 } });
  });

  it('ends in the middle of an upload when it is closed', async () => {
    const { server } = await serveGatedRuntime();
    const { upload } = await aSession(server.address);
    const proxy = await WireProxy.open(server.address);
    onTestFinished(() => proxy.close());
    proxy.freeze();
    const thread = aThread(proxy.address);
    const failing = failureOf(thread.upload(upload));
    await thread.close();
    expect(await failing).toMatchObject({ error: { code: 'CANCELLED' } });
    expect(await thread.upload(upload)).toBeNull();
  });

  it('keeps no process alive', async () => {
    const { server } = await serveGatedRuntime();
    const program = fileURLToPath(new URL('./threads/upload-and-leave.ts', import.meta.url));
    const args = ['--conditions=@agentlightning/source', program, server.address];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    const [said, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
    expect([said.trim(), code]).toEqual(['1', 0]);
  });
});

describe('a batch is sent from the thread that asks', () => {
  it.each([
    ['there is no other', new URL('./threads/no-such-program.js', import.meta.url)],
    ['the other dies before it has answered', new URL('./threads/dying-before-it-answers.ts', import.meta.url)],
  ])('when %s, and counts once', async (_case, program) => {
    const { server, engine } = await serveGatedRuntime();
    const { client, model, upload } = await aSession(server.address);
    const thread = aThread(server.address, { program });
    const here = { training: client.training, buffers: new BufferPool() };
    const uploads = new BatchUploads({ here, thread, threadFromBytes: 0 });
    expect(await thread.upload(upload)).toBeNull();
    expect((await uploads.upload(upload)).operation?.seq).toBe(1);
    expect((await model.ended(1)).state).toBe(OperationState.SUCCEEDED);
    expect(engine.started).toBe(1);
  });
});

describe('what a runtime refuses', () => {
  const cases: [string, ReturnType<typeof aBatch>, Partial<ServeRuntimeOptions>][] = [
    ['a wrong number', { data: [aDatum(1), aDatum(2, { temperature: 0 })] }, {}],
    ['too large a batch', aBatch([1, 2, 3]), { limits: { maxBatchBytes: 100 } }],
  ];
  it.each(cases)('is the same error whichever thread has sent it: %s', async (_case, batch, options) => {
    const { connect } = await serveGatedRuntime(options);
    const errors: unknown[] = [];
    for (const uploadThreadFromBytes of [0, Number.POSITIVE_INFINITY]) {
      const runtime = await connect({ uploadThreadFromBytes });
      const model = await runtime.createModel({ baseModel: 'bag', modelId: `m-${errors.length}`, seed: 1 });
      errors.push(await model.forwardBackward(batch, loss).catch((error: unknown) => error));
    }
    const [thread, here] = errors;
    expect(thread).toBeInstanceOf(RuntimeError);
    expect(thread).toEqual(here);
    expect(thread).toMatchObject({ field: expect.any(String), remedy: expect.any(String), category: 'user' });
  });
});
