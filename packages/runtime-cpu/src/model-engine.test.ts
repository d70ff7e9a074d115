import { mkdtemp, readdir, readFile, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { sampledDatum, sampleRequest, smallConfig } from '../test/small-model.ts';
import { loadBaseModel } from './base-models.ts';
import { readCheckpoint } from './checkpoint/model-checkpoint.ts';
import { tinyModelConfig } from './model/model-config.ts';
import { ModelEngine } from './model-engine.ts';
import { encodeText } from './text/tokenizer.ts';

const loss = { name: 'importance_sampling', parameters: {} };

async function temporaryDirectory() {
  const path = await mkdtemp(join(tmpdir(), 'agl-engine-'));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true }) };
}

function makeEngine(seed: number): ModelEngine {
  return ModelEngine.random(smallConfig, seed);
}

/** One training step: sample without a seed, reward some tokens, step, publish. */
async function trainRound(engine: ModelEngine): Promise<string> {
  const { seed: _, ...unseeded } = sampleRequest({ maxTokens: 6 });
  const results = await Promise.all(Array.from({ length: 4 }, () => engine.sample(unseeded).result));
  const data = results.map((result, index) =>
    sampledDatum(result, { advantages: new Float32Array(result.choices.length).fill(index - 1.5) }),
  );
  await engine.forwardBackward(data, loss);
  await engine.optimStep({ learningRate: 0.01 });
  await engine.publishWeights();
  return JSON.stringify(results.map(({ choices }) => choices));
}

test.each([0.5, 1, 1.7])(
  'trainer and sampler compute the same log-probabilities at temperature %d',
  async (temperature) => {
    const engine = ModelEngine.random(tinyModelConfig, 3);
    const request = sampleRequest({ maxTokens: 24, temperature });
    const results = await Promise.all([1, 2, 3].map((seed) => engine.sample({ ...request, seed }).result));
    const data = results.map((result) => sampledDatum(result, { temperature }));
    const { metrics, trainedTokens } = await engine.forward(data);
    expect(trainedTokens).toBeGreaterThan(30);
    expect(metrics['policy/logprob_gap_max']).toBeLessThan(1e-4);
    const wrong = await engine.forward(data.map((each) => ({ ...each, temperature: temperature * 1.5 })));
    expect(wrong.metrics['policy/logprob_gap']).toBeGreaterThan(1e-3);
  },
);

test('trainer and sampler compute the same log-probabilities at the end of the context', {
  tags: ['long'],
}, async () => {
  const engine = await loadBaseModel('tiny-chat', 3);
  const promptTokens = encodeText('A long prompt with words. '.repeat(80)).slice(0, tinyModelConfig.maxContext - 1);
  const result = await engine.sample(sampleRequest({ promptTokens, maxTokens: 64 })).result;
  expect(result.choices).toHaveLength(1);
  const { metrics } = await engine.forward([sampledDatum(result)]);
  expect(metrics['policy/logprob_gap_max']).toBeLessThan(1e-4);
});

test('a reward increases the probability of a token', async () => {
  const engine = makeEngine(1);
  const before = await engine.sample(sampleRequest({ maxTokens: 1 })).result;
  const data = [sampledDatum(before)];
  await engine.forwardBackward(data, loss);
  await engine.optimStep({ learningRate: 0.02 });
  const [after] = (await engine.forward(data)).logprobs;
  expect(after?.[0]).toBeGreaterThan((before.choices[0]?.logprob ?? 0) + 0.5);
});

test('a loaded checkpoint resumes exactly', async () => {
  await using directory = await temporaryDirectory();
  const path = join(directory.path, 'a.safetensors');
  const engine = makeEngine(2);
  await trainRound(engine);
  const saved = await engine.saveCheckpoint(path, new TextEncoder().encode('{"epoch":1}'));
  const expected = [await trainRound(engine), await trainRound(engine)];
  const resumed = ModelEngine.fromCheckpoint(await readCheckpoint(path));
  expect(resumed).toMatchObject({ step: 1, weightVersion: 1 });
  expect([await trainRound(resumed), await trainRound(resumed)]).toEqual(expected);
  expect(resumed.parameters()).toEqual(engine.parameters());
  expect(await readdir(directory.path)).toEqual(['a.safetensors']);
  expect(saved).toMatchObject({ step: 1, weightVersion: 1, sizeBytes: (await readFile(path)).length });
});

test('a running engine restores its state and the client state from a checkpoint', async () => {
  await using directory = await temporaryDirectory();
  const path = join(directory.path, 'a.safetensors');
  const engine = makeEngine(2);
  await engine.saveCheckpoint(path, Uint8Array.of(1, 2, 3));
  const expected = await trainRound(engine);
  expect([...(await engine.loadCheckpoint(path))]).toEqual([1, 2, 3]);
  expect(engine).toMatchObject({ step: 0, weightVersion: 0 });
  expect(await trainRound(engine)).toBe(expected);
});

test('a checkpoint keeps the value head, and a model without one rejects it', async () => {
  await using directory = await temporaryDirectory();
  const path = join(directory.path, 'a.safetensors');
  const engine = await loadBaseModel('tiny-chat', 1, { hasValueHead: true });
  const sampled = await engine.sample(sampleRequest({ maxTokens: 4 })).result;
  const data = [sampledDatum(sampled, { valueTargets: new Float32Array(sampled.choices.length).fill(1) })];
  await engine.forwardBackward(data, { ...loss, parameters: { value_coefficient: 0.5 } });
  await engine.optimStep({ learningRate: 0.01 });
  await engine.saveCheckpoint(path, new Uint8Array());
  const { values } = await engine.forward(data);
  expect(values?.[0]?.[0]).toBeGreaterThan(0.05);
  const resumed = ModelEngine.fromCheckpoint(await readCheckpoint(path));
  expect((await resumed.forward(data)).values).toEqual(values);
  const plain = await loadBaseModel('tiny-chat', 1);
  await expect(plain.loadCheckpoint(path)).rejects.toThrow(/another model shape/);
  // Samples do not depend on the value head.
  expect(await plain.sample(sampleRequest({ maxTokens: 4 })).result).toEqual(sampled);
});

test('accumulated gradients prevent saving a checkpoint', async () => {
  await using directory = await temporaryDirectory();
  const engine = makeEngine(1);
  await engine.forwardBackward([sampledDatum(await engine.sample(sampleRequest({})).result)], loss);
  const path = join(directory.path, 'a.safetensors');
  await expect(engine.saveCheckpoint(path, new Uint8Array())).rejects.toThrow(/gradients/);
  expect(await readdir(directory.path)).toEqual([]);
});

test('damaged, incompatible and missing checkpoints have different errors', async () => {
  await using directory = await temporaryDirectory();
  const path = join(directory.path, 'a.safetensors');
  const engine = makeEngine(1);
  await engine.saveCheckpoint(path, new Uint8Array());
  const before = engine.parameters();
  await truncate(path, (await readFile(path)).length - 5);
  await expect(engine.loadCheckpoint(path)).rejects.toThrow(/cut off/);
  await writeFile(path, 'text');
  await expect(engine.loadCheckpoint(path)).rejects.toMatchObject({ code: 'VALIDATION' });
  await expect(engine.loadCheckpoint(`${path}.no`)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  await ModelEngine.random(tinyModelConfig, 1).saveCheckpoint(path, new Uint8Array());
  await expect(engine.loadCheckpoint(path)).rejects.toThrow(/another model shape/);
  expect(engine.parameters()).toEqual(before);
});

test('two models trained alternately equal those trained separately', async () => {
  const run = async (seed: number) => {
    const engine = makeEngine(seed);
    return [await trainRound(engine), await trainRound(engine), engine.parameters()];
  };
  const alone = [await run(1), await run(2)];
  expect(await Promise.all([run(1), run(2)])).toEqual(alone);
});

test.each([{ width: 20 }, { hidden: 26 }, { outputSize: 270 }])(
  'a shape that is not a multiple of 4 is refused: %j',
  (shape) => {
    expect(() => ModelEngine.random({ ...smallConfig, ...shape }, 1)).toThrow('a model cannot have heads');
  },
);

test('training yields to the event loop', async () => {
  const engine = makeEngine(1);
  const result = await engine.sample(sampleRequest({})).result;
  let turns = 0;
  const ticking = setInterval(() => {
    turns += 1;
  }, 0);
  // Different beginnings, so that nothing is shared.
  const long = (first: number) => ({ ...result, promptTokens: [first, ...Array<number>(100).fill(65)] });
  await engine.forwardBackward(
    Array.from({ length: 128 }, (_, index) => sampledDatum(long(index))),
    loss,
  );
  clearInterval(ticking);
  expect(turns).toBeGreaterThan(3);
});

test.skipIf(process.platform !== 'linux')('a full disk is reported with the path and a remedy', async () => {
  await using folder = await temporaryDirectory();
  const path = join(folder.path, 'full.safetensors');
  // The first write goes to a full device.
  await symlink('/dev/full', `${path}.${process.pid}.tmp`);
  await expect(makeEngine(1).saveCheckpoint(path, new Uint8Array())).rejects.toMatchObject({
    code: 'STORE_FULL',
    message: expect.stringContaining(path),
    remedy: expect.stringMatching(/Free disk space/),
  });
  expect(await readdir(folder.path)).toEqual([]);
});
