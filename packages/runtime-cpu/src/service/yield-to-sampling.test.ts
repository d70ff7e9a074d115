import type { Clock } from '@agentlightning/core';
import { systemClock } from '@agentlightning/core/internal';
import { expect, test } from 'vitest';
import { sampleRequest, smallConfig } from '../../test/small-model.ts';
import { ModelEngine } from '../model-engine.ts';
import { CheckpointFolder } from './checkpoint-folder.ts';
import { CpuModel } from './cpu-model.ts';
import type { ModelDirectory } from './model-directory.ts';
import { yieldToSampling } from './yield-to-sampling.ts';

/** Two models, of which the second receives a request. */
function sampling(maxTokens: number): { readonly models: ModelDirectory; readonly engine: ModelEngine } {
  const models = new Map(
    ['quiet', 'asked'].map((modelId) => [modelId, aModel(modelId, ModelEngine.random(smallConfig, 1))] as const),
  );
  const engine = models.get('asked')?.engine ?? ModelEngine.random(smallConfig, 1);
  engine.sample(sampleRequest({ maxTokens, seed: 3 }));
  return { models, engine };
}

function aModel(modelId: string, engine: ModelEngine): CpuModel {
  const checkpoints = new CheckpointFolder('nowhere', modelId);
  return new CpuModel({
    modelId,
    baseModel: 'small',
    seed: 1,
    engine,
    checkpoints,
    baseUrl: '',
    loadReference: async () => engine,
    onUnload: () => {},
  });
}

test('training waits until all responses have ended', async () => {
  const { models, engine } = sampling(20);
  await yieldToSampling({ models, clock: systemClock });
  expect(engine.activeSamples).toBe(0);
});

test('training does not wait indefinitely', async () => {
  const { models, engine } = sampling(100);
  let now = 0;
  // Every read of the clock is 20 ms later.
  const clock: Clock = { ...systemClock, now: () => (now += 20) };
  await yieldToSampling({ models, clock });
  expect(engine.activeSamples).toBe(1);
  engine.abortSamples('The test has ended');
});
