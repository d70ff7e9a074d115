import { createServer } from 'node:net';
import { ManualClock } from '@agentlightning/core/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ErrorReason } from '../src/gen/agentlightning/runtime/v1/error_pb.ts';
import { OperationState } from '../src/gen/agentlightning/runtime/v1/operation_pb.ts';
import { HealthCheckResponse_ServingStatus as ServingStatus } from '../src/gen/grpc/health/v1/health_pb.ts';
import { connectRuntime, serveRuntime } from '../src/index.ts';
import { aBatch } from '../src/testing/index.ts';
import { openRawClient, refusalOf } from '../src/testing/raw-client.ts';
import { GatedEngine } from './bag/gated-engine.ts';
import { serveGatedRuntime } from './serving-a-runtime.ts';

const loss = { name: 'importance_sampling', parameters: {} };
const batch = aBatch([1, 2]);
const noDirectory = 'never-written';

describe('listening', () => {
  it('reports a port in use', async () => {
    const { server } = await serveGatedRuntime();
    const second = serveRuntime({ engine: new GatedEngine(noDirectory), port: server.port });
    await expect(second).rejects.toMatchObject({ code: 'PORT_IN_USE' });
    await expect(second).rejects.toThrow(String(server.port));
  });

  it('waits for a runtime that is still starting', async () => {
    const placeholder = createServer().listen(0, '127.0.0.1');
    const port = await new Promise<number>((resolve) => {
      placeholder.once('listening', () => {
        const address = placeholder.address();
        resolve(typeof address === 'object' && address !== null ? address.port : 0);
      });
    });
    await new Promise((resolve) => placeholder.close(resolve));
    const connecting = connectRuntime({ address: `127.0.0.1:${port}` });
    const server = await serveRuntime({ engine: new GatedEngine(noDirectory), port });
    onTestFinished(() => server.close());
    const runtime = await connecting;
    expect((await runtime.capabilities()).models[0]?.name).toBe('bag');
    await runtime.close();
  });
});

describe('a runtime that trains only LoRA at temperature 1', () => {
  const features = ['lora', 'lora_only', 'unit_temperature'];
  const models = [{ name: 'bag', maxContext: 256, vocabSize: 16, maxLoraRank: 4 }];

  it('rejects a model without LoRA, naming the feature', async () => {
    const { connect } = await serveGatedRuntime({}, { features, models });
    const making = (await connect()).createModel({ baseModel: 'bag', modelId: 'model', seed: 1 });
    await expect(making).rejects.toMatchObject({ code: 'RUNTIME_REJECTED', field: 'lora' });
    await expect(making).rejects.toThrow('lora_only');
  });

  it('rejects a batch of another temperature, naming the datum', async () => {
    const { connect } = await serveGatedRuntime({}, { features, models });
    const runtime = await connect();
    const model = await runtime.createModel({ baseModel: 'bag', modelId: 'model', seed: 1, lora: { rank: 1 } });
    const [plain] = aBatch([1]).data;
    const [cool] = aBatch([2], { temperature: 0.5 }).data;
    const data = [plain, cool].flatMap((datum) => datum ?? []);
    const submitting = model.forwardBackward({ data }, loss);
    await expect(submitting).rejects.toMatchObject({ field: 'temperature', datumIndex: 1 });
    await expect(submitting).rejects.toThrow('unit_temperature');
  });
});

describe('a full queue', () => {
  const limits = { maxInflightBytes: 500 };

  it('rejects a batch without using its number, and accepts it later', async () => {
    const { engine, rawModel } = await serveGatedRuntime({ limits });
    const model = await rawModel();
    engine.shut();
    const started = engine.nextStart();
    await model.send(model.upload(1, batch));
    await started;
    const early = await refusalOf(model.send(model.upload(3, batch)));
    expect(early).toMatchObject({ reason: ErrorReason.QUEUE_FULL, code: 'RESOURCE_EXHAUSTED' });
    expect(early.retryAfterMs).toBeGreaterThan(0);
    const { model: info } = await model.client.training.getModel({ modelId: model.modelId });
    expect(info?.nextSeq).toBe(2);
  });

  it('admits the batch that all others wait for', async () => {
    const { engine, rawModel } = await serveGatedRuntime({ limits });
    const model = await rawModel();
    engine.shut();
    await model.send(model.upload(1, batch));
    const { operation } = await model.send(model.upload(2, batch));
    expect(operation?.state).toBe(OperationState.STAGED);
  });

  it('is retried by the client', async () => {
    const { model: makeModel } = await serveGatedRuntime({ limits });
    const model = await makeModel();
    const sent = await Promise.all(Array.from({ length: 8 }, () => model.forwardBackward(batch, loss)));
    const results = await Promise.all(sent.map(({ result }) => result));
    expect(results).toHaveLength(8);
    expect(await (await model.optimStep({ learningRate: 0.1 })).result).toMatchObject({ step: 1 });
  });
});

describe('time', () => {
  it('expires a session without heartbeats', async () => {
    const clock = new ManualClock();
    const { rawModel } = await serveGatedRuntime({ clock, limits: { sessionTtlMs: 1_000 } });
    const { client, sessionId } = await rawModel();
    await clock.advance(900);
    await client.runtime.heartbeat({ sessionId });
    await clock.advance(900);
    await client.runtime.heartbeat({ sessionId });
    await clock.advance(1_100);
    const refusal = await refusalOf(client.runtime.heartbeat({ sessionId }));
    expect(refusal.reason).toBe(ErrorReason.SESSION_EXPIRED);
  });

  it('removes expired results, and reports that', async () => {
    const clock = new ManualClock();
    const { rawModel } = await serveGatedRuntime({ clock, limits: { resultTtlMs: 1_000 } });
    const model = await rawModel();
    const { training } = model.client;
    const { modelId } = model;
    await model.send(model.upload(1, batch));
    await model.ended(1);
    await clock.advance(1_100);
    await training.publishSamplerWeights({ key: model.key(2) });
    const asking = await refusalOf(training.getOperation({ modelId, seq: 1 }));
    expect(asking).toMatchObject({ reason: ErrorReason.RESULT_EXPIRED, code: 'NOT_FOUND' });
    const again = await refusalOf(model.send(model.upload(1, batch)));
    expect(again.reason).toBe(ErrorReason.RESULT_EXPIRED);
    expect((await model.ended(2)).state).toBe(OperationState.SUCCEEDED);
  });
});

describe('an engine that fails', () => {
  it('fails the batch with its message, and the step after it', async () => {
    const { engine, model: makeModel } = await serveGatedRuntime();
    const model = await makeModel();
    engine.fault = new TypeError('the matrix is upside down');
    const pending = await model.forwardBackward(batch, loss);
    const step = await model.optimStep({ learningRate: 0.1 });
    await expect(pending.result).rejects.toMatchObject({ code: 'INTERNAL' });
    await expect(pending.result).rejects.toThrow('the matrix is upside down');
    await expect(step.result).rejects.toMatchObject({ code: 'PRECONDITION_FAILED' });
  });

  it('restricts a corrupted model to loading a checkpoint', async () => {
    const { engine, model: makeModel } = await serveGatedRuntime();
    const model = await makeModel();
    const saved = await (await model.saveCheckpoint('sound', {})).result;
    engine.isCorrupted = true;
    expect(await model.state()).toMatchObject({ isCorrupted: true });
    for (const pending of await Promise.all([
      model.forwardBackward(batch, loss),
      model.publishWeights(),
      model.saveCheckpoint('broken', {}),
    ])) {
      await expect(pending.result).rejects.toMatchObject({ code: 'PRECONDITION_FAILED' });
    }
    await (await model.loadCheckpoint(saved.uri)).result;
    await (await model.publishWeights()).result;
    expect(await model.state()).toMatchObject({ isCorrupted: false, policyVersion: 1 });
  });

  it('limits the number of models until one is unloaded', async () => {
    const { connect, model: makeModel } = await serveGatedRuntime({}, { maxModels: 1 });
    const runtime = await connect();
    const first = await makeModel(runtime);
    const second = () => runtime.createModel({ baseModel: 'bag', modelId: 'second', seed: 1 });
    await expect(second()).rejects.toMatchObject({ code: 'PRECONDITION_FAILED' });
    await expect(second()).rejects.toThrow('at most 1');
    expect(await makeModel(await connect())).toMatchObject({ modelId: first.modelId });
    await (await makeModel(await connect())).unload();
    expect(await (await second()).state()).toMatchObject({ step: 0 });
  });

  it('does not count a model whose creation failed', async () => {
    const { engine, connect } = await serveGatedRuntime({}, { maxModels: 1 });
    const runtime = await connect();
    engine.creationFault = new TypeError('no such file');
    const wanted = { baseModel: 'bag', modelId: 'broken', seed: 1 };
    await expect(runtime.createModel(wanted)).rejects.toThrow('no such file');
    engine.creationFault = null;
    expect(await (await runtime.createModel({ ...wanted, modelId: 'sound' })).state()).toMatchObject({ step: 0 });
  });

  it('can create a model on a retry', async () => {
    const { engine, connect, model: makeModel } = await serveGatedRuntime();
    const runtime = await connect();
    engine.creationFault = new TypeError('no such file');
    await expect(makeModel(runtime)).rejects.toThrow('no such file');
    engine.creationFault = null;
    expect(await (await makeModel(runtime)).state()).toMatchObject({ step: 0 });
  });
});

describe('stopping', () => {
  it('finishes the running operation, rejects waiting ones, and closes the engine', async () => {
    const { engine, server, connect, model: makeModel } = await serveGatedRuntime();
    const model = await makeModel(await connect({ reconnectTimeoutMs: 300 }));
    engine.shut();
    const started = engine.nextStart();
    const running = await model.forwardBackward(batch, loss);
    const waiting = await model.forwardBackward(batch, loss);
    await started;
    const closed = server.close();
    await expect(waiting.result).rejects.toMatchObject({ code: 'RUNTIME_UNAVAILABLE' });
    engine.open();
    expect((await running.result).trainedTokens).toBe(12);
    await closed;
    expect(engine).toMatchObject({ started: 1, isClosed: true });
    await expect(model.publishWeights()).rejects.toMatchObject({ code: 'RUNTIME_UNAVAILABLE' });
  });

  it('notifies health watchers', async () => {
    const { server } = await serveGatedRuntime();
    const client = openRawClient(server.address);
    onTestFinished(() => client.close());
    const seen: number[] = [];
    for await (const { status } of client.health.watch({ service: '' })) {
      seen.push(status);
      if (status === ServingStatus.SERVING) await server.close();
    }
    expect(seen).toEqual([ServingStatus.SERVING, ServingStatus.NOT_SERVING]);
  });

  it('does not cancel the running operation', async () => {
    const { engine, model: makeModel } = await serveGatedRuntime();
    const model = await makeModel();
    engine.shut();
    const started = engine.nextStart();
    const running = await model.forwardBackward(batch, loss);
    const waiting = await model.forwardBackward(batch, loss);
    await started;
    await model.cancel(waiting.sequence);
    await expect(waiting.result).rejects.toMatchObject({ code: 'CANCELLED' });
    await expect(model.cancel(running.sequence)).rejects.toMatchObject({ code: 'PRECONDITION_FAILED' });
    engine.open();
    expect((await running.result).trainedTokens).toBe(12);
  });
});

describe('unloading', () => {
  it('cancels waiting operations, finishes the running one, and frees the id', async () => {
    const { engine, connect, model: makeModel } = await serveGatedRuntime();
    const runtime = await connect();
    const model = await makeModel(runtime);
    engine.shut();
    const started = engine.nextStart();
    const running = await model.forwardBackward(batch, loss);
    const waiting = await model.forwardBackward(batch, loss);
    await started;
    const unloaded = model.unload();
    await expect(waiting.result).rejects.toMatchObject({ code: 'NOT_FOUND' });
    engine.open();
    await unloaded;
    expect((await running.result).trainedTokens).toBe(12);
    expect(await (await makeModel(runtime)).state()).toMatchObject({ nextSequence: 1, hasPendingGradients: false });
  });
});
