import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { connectRuntime } from '@agentlightning/runtime';
import { expect, test } from 'vitest';
import { startCpuRuntime } from '../src/service/start-cpu-runtime.ts';
import { datum } from './small-model.ts';

const prompt = [269, 72, 105, 270];
const loss = { name: 'ppo', parameters: { value_coefficient: 0.5, value_clip: 0.5 } };

test('a client creates, evaluates, trains and restores a value head', async () => {
  const checkpointDir = await mkdtemp(path.join(tmpdir(), 'value-head-'));
  const server = await startCpuRuntime({ checkpointDir });
  const runtime = await connectRuntime({ address: server.address, apiKey: server.apiKey });
  expect((await runtime.capabilities()).features).toContain('value_head');
  const model = await runtime.createModel({ baseModel: 'tiny-random', modelId: 'critic', seed: 1, hasValueHead: true });
  expect(await model.state()).toMatchObject({ hasValueHead: true });
  const data = [
    datum([...prompt, 65, 66], {
      count: 2,
      advantages: new Float32Array(2),
      valueTargets: Float32Array.of(1, -1),
      samplingValues: new Float32Array(2),
    }),
  ];
  expect(await model.values({ data })).toEqual([new Float32Array(2)]);
  for (let step = 0; step < 10; step++) {
    await (await model.forwardBackward({ data }, loss)).result;
    await (await model.optimStep({ learningRate: 0.01 })).result;
  }
  const [values] = await model.values({ data });
  expect(values?.[0]).toBeGreaterThan(0.1);
  expect(values?.[1]).toBeLessThan(-0.1);
  const { uri } = await (await model.saveCheckpoint('learnt', {})).result;
  await (await model.forwardBackward({ data }, loss)).result;
  await (await model.optimStep({ learningRate: 0.1 })).result;
  await (await model.loadCheckpoint(uri)).result;
  expect((await model.values({ data }))[0]).toEqual(values);

  const plain = await runtime.createModel({ baseModel: 'tiny-random', modelId: 'plain', seed: 1 });
  await expect(plain.values({ data })).rejects.toThrow();
  const refused = async (): Promise<unknown> => (await plain.forwardBackward({ data }, loss)).result;
  await expect(refused()).rejects.toMatchObject({ code: 'RUNTIME_REJECTED' });
  await runtime.close();
  await server.close();
  await rm(checkpointDir, { recursive: true });
});
