import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { systemClock } from '@agentlightning/core/internal';
import type { TrainingDatum } from '@agentlightning/core/training-runtime';
import { lossDefinitions } from '@agentlightning/runtime/internal/losses';
import { aDatum } from '@agentlightning/runtime/testing';
import { loadBaseModel } from '@agentlightning/runtime-cpu/internal';
import { expect, it, onTestFinished } from 'vitest';
import { linearise, stepData, trainedPositions } from '../src/engine/accumulated-batch.ts';
import { startFakeTinkerServer } from '../src/testing/index.ts';
import { layerGroups, TinkerSession } from '../src/wire/tinker-session.ts';

/** A step in proportion to the gradient: Adam's own step would hide a wrong scale. */
const adam = { learningRate: 1, beta1: 0.9, beta2: 0.95, epsilon: 1, weightDecay: 0, gradientClipNorm: 0 };

/** Sequences of different lengths, with ratios below, inside and above the clips. */
const data: readonly TrainingDatum[] = [
  aDatum(1, {
    samplingLogprobs: Float32Array.of(-5, -6, -5.4, -5.6, -4, -7),
    referenceLogprobs: new Float32Array(6).fill(-5),
  }),
  aDatum(2, {
    trained: [{ start: 4, end: 6 }],
    samplingLogprobs: Float32Array.of(-5.5, -6.5),
    referenceLogprobs: Float32Array.of(-5, -6),
    weights: Float32Array.of(0.4, 0.9),
  }),
];

it.each([
  ['sum', 'ppo', {}],
  ['sequence_means', 'ppo', { kl_coefficient: 0.3 }],
  ['token_mean', 'ppo', { dual_clip: 1.2 }],
  ['sequence_means', 'gspo', { clip_low: 0.2, clip_high: 0.3 }],
  ['token_mean', 'dro', { beta: 0.4 }],
  ['sequence_means', 'cispo', { clip_low: 0.3, clip_high: 0.3 }],
] as const)('a server with %s takes the step of %s with %j by the contract', async (lossScale, name, given) => {
  const directory = await mkdtemp(path.join(tmpdir(), 'tinker-'));
  const server = await startFakeTinkerServer({ dialect: 'binary', directory, baseModels: ['tiny-chat'], lossScale });
  const session = await TinkerSession.open({ baseUrl: server.url, apiKey: server.apiKey, clock: systemClock });
  onTestFinished(async () => {
    session.close();
    await server.close();
    await rm(directory, { recursive: true, force: true });
  });
  const defaults = lossDefinitions.find((loss) => loss.name === name)?.defaults ?? {};
  const loss = { name, parameters: { ...defaults, ...given } };

  const model = await session.createModel({ baseModel: 'tiny-chat', rank: 1, seed: 1, layers: layerGroups });
  const passes = data.map(({ tokenIds }) => ({ tokenIds, inputs: {} }));
  const trained = async (): Promise<readonly Float32Array[]> =>
    (await model.score(passes)).map((all, index) =>
      Float32Array.from(trainedPositions(data[index] ?? aDatum(1)), (position) => all[position - 1] ?? 0),
    );
  const batch = linearise({ data }, loss, await trained());
  await model.addGradients(stepData(batch.data, lossScale), { multipliesByTokens: lossScale === 'token_mean' });
  await model.step(adam);

  const engine = await loadBaseModel('tiny-chat', 1);
  const expected = await engine.forwardBackward(data, loss);
  await engine.optimStep(adam);
  expect(batch.loss).toBeCloseTo(expected.loss, 3);
  const after = (await engine.forward(data)).logprobs.flatMap((array) => [...array]);
  const found = (await trained()).flatMap((array) => [...array]);
  const gaps = found.map((logprob, at) => Math.abs(logprob - (after[at] ?? Number.NaN)));
  expect(Math.max(...gaps)).toBeLessThan(1e-3);
});
