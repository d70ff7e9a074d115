import { describe, expect, it, onTestFinished } from 'vitest';
import type { OperationStatus } from '../src/index.ts';
import { aBatch, WireProxy } from '../src/testing/index.ts';
import { serveGatedRuntime } from './serving-a-runtime.ts';

const loss = { name: 'importance_sampling', parameters: {} };
const batch = aBatch([1, 2]);

describe('a client', () => {
  it('rejects pending calls when the runtime stops responding', async () => {
    const { engine, server, connect, model: makeModel } = await serveGatedRuntime();
    const proxy = await WireProxy.open(server.address);
    onTestFinished(() => proxy.close());
    const options = { address: proxy.address, keepaliveMs: 100, reconnectTimeoutMs: 300, callTimeoutMs: 200 };
    const model = await makeModel(await connect(options));
    engine.shut();
    const pending = await model.forwardBackward(batch, loss);
    proxy.freeze();
    await expect(pending.result).rejects.toMatchObject({ code: 'RUNTIME_UNAVAILABLE' });
    await expect(pending.result).rejects.toThrow(proxy.address);
  });

  it('does not accept a result of a replacement runtime', async () => {
    const [first, second] = [await serveGatedRuntime(), await serveGatedRuntime()];
    const proxy = await WireProxy.open(first.server.address);
    onTestFinished(() => proxy.close());
    const model = await first.model(await first.connect({ address: proxy.address }));
    first.engine.shut();
    const pending = await model.forwardBackward(batch, loss);
    const strangers = await (await second.model()).forwardBackward(batch, loss);
    await strangers.result;
    expect(strangers.sequence).toBe(pending.sequence);
    proxy.redirect(second.server.address);
    proxy.cut();
    await expect(pending.result).rejects.toMatchObject({ code: 'RUNTIME_UNAVAILABLE' });
    await expect(pending.result).rejects.toThrow(/session/i);
  });

  it('reports waiting and running operations', async () => {
    const statuses: OperationStatus[] = [];
    const { engine, connect, model: makeModel } = await serveGatedRuntime();
    const model = await makeModel(await connect({ onOperation: (status) => statuses.push(status) }));
    engine.shut();
    const started = engine.nextStart();
    await model.forwardBackward(batch, loss);
    const behind = await model.optimStep({ learningRate: 0.1 });
    await started;
    const ofStep = (): readonly OperationStatus[] => statuses.filter(({ sequence }) => sequence === behind.sequence);
    const waiting = { state: 'waiting', waitsFor: 'earlier-operation', operationsBefore: 1, progress: null };
    await expect.poll(ofStep).toContainEqual(expect.objectContaining(waiting));
    engine.open();
    await behind.result;
    expect(ofStep().at(-1)).toMatchObject({ state: 'succeeded', waitsFor: null, operationsBefore: 0 });
    const ofBatch = statuses.filter(({ sequence }) => sequence === behind.sequence - 1);
    expect(ofBatch.at(-1)?.progress).toEqual({ fraction: 1, tokensDone: 20, tokensTotal: 20 });
  });

  it('sends more operations than the window holds, in order', async () => {
    const { model: makeModel } = await serveGatedRuntime({ limits: { reorderWindow: 3 } });
    const model = await makeModel();
    const sent = await Promise.all(Array.from({ length: 40 }, () => model.publishWeights()));
    const versions = await Promise.all(sent.map(async ({ result }) => (await result).policyVersion));
    expect(versions).toEqual(Array.from({ length: 40 }, (_, at) => at + 1));
  });

  it('rejects pending calls on close, and the runtime continues', async () => {
    const { engine, connect, model: makeModel } = await serveGatedRuntime();
    const runtime = await connect();
    const model = await makeModel(runtime);
    engine.shut();
    const pending = await model.forwardBackward(batch, loss);
    await runtime.close();
    await expect(pending.result).rejects.toMatchObject({ code: 'CANCELLED' });
    engine.open();
    const again = await makeModel();
    expect(await (await again.optimStep({ learningRate: 0.1 })).result).toMatchObject({ step: 1 });
  });

  it('returns the same model object for the same request', async () => {
    const { connect, model: makeModel } = await serveGatedRuntime();
    const runtime = await connect();
    const [first, second] = [await makeModel(runtime), await makeModel(runtime)];
    expect(second).toBe(first);
  });

  it('rejects a runtime with another tokenizer than expected, when both are known', async () => {
    const { connect } = await serveGatedRuntime();
    const runtime = await connect();
    const wanted = { baseModel: 'bag', modelId: 'model', seed: 1 };
    const other = runtime.createModel({ ...wanted, tokenizerSha256: 'cd'.repeat(32) });
    await expect(other).rejects.toMatchObject({ code: 'CONFLICT' });
    await expect(other).rejects.toThrow('cdcd');
    // The runtime does not report a hash of the chat template.
    const same = { tokenizerSha256: 'AB'.repeat(32), chatTemplateSha256: 'cd'.repeat(32) };
    expect(await (await runtime.createModel({ ...wanted, ...same })).state()).toMatchObject({ step: 0 });
  });

  it.each([-1, 1.5, 2 ** 32])('refuses the seed %d', async (seed) => {
    const { connect } = await serveGatedRuntime();
    const runtime = await connect();
    const making = runtime.createModel({ baseModel: 'bag', modelId: 'model', seed });
    await expect(making).rejects.toMatchObject({ code: 'VALIDATION' });
  });

  it('rejects a datum that cannot be encoded before it uses a number', async () => {
    const { model: makeModel } = await serveGatedRuntime();
    const model = await makeModel();
    const sending = model.forwardBackward(aBatch([1], { minPolicyVersion: -1 }), loss);
    await expect(sending).rejects.toMatchObject({ code: 'VALIDATION' });
    expect((await model.forwardBackward(batch, loss)).sequence).toBe(1);
  });
});
