import type { TrainingDatum } from '@agentlightning/core/training-runtime';
import { describe, expect, test, vi } from 'vitest';
import { datum, smallConfig } from '../../test/small-model.ts';
import type { ModelConfig } from '../model/model-config.ts';
import { initialParameters, parameterLayout, withValueHead } from '../model/parameters.ts';
import { Random } from '../random.ts';
import { ModelTrainer } from './model-trainer.ts';
import { initialAdamState } from './optimizer.ts';

/** Programs are compiled slowly on a busy machine. */
vi.setConfig({ testTimeout: 120_000 });

const headed = { ...smallConfig, hasValueHead: true };
const critic = { name: 'importance_sampling', parameters: { value_coefficient: 1 } };

function trainerOf(config: ModelConfig, parameters = initialParameters(config, Random.fromSeed(5))): ModelTrainer {
  return new ModelTrainer({ config, parameters, adam: initialAdamState(parameters.length) });
}

const sequence = (fields: Partial<TrainingDatum> = {}): TrainingDatum =>
  datum([269, 72, 105, 270, 65, 66, 67], { count: 3, advantages: new Float32Array(3), ...fields });

test('a value head does not change the policy and is 0 initially', async () => {
  const plain = initialParameters(smallConfig, Random.fromSeed(5));
  const { config, parameters } = withValueHead(smallConfig, plain);
  expect(parameters).toEqual(initialParameters(headed, Random.fromSeed(5)));
  const without = await trainerOf(smallConfig, plain).forward([sequence()]);
  const beside = await trainerOf(config, parameters).forward([sequence()]);
  expect(beside.logprobs).toEqual(without.logprobs);
  expect([without.values, beside.values]).toEqual([null, [new Float32Array(3)]]);
});

test('it learns the return of each text, and its error decreases', { tags: ['long'] }, async () => {
  const trainer = trainerOf(headed);
  const batch = [
    sequence({ valueTargets: Float32Array.of(1, 0.5, -0.5) }),
    sequence({ tokenIds: Int32Array.of(269, 90, 91, 270, 68, 69, 70), valueTargets: Float32Array.of(-1, 2, 0) }),
  ];
  const errors: number[] = [];
  for (let step = 0; step < 150; step++) {
    const { metrics } = await trainer.forwardBackward(batch, critic);
    errors.push(metrics['value/error'] ?? Number.NaN);
    trainer.optimStep({ learningRate: 3e-3 });
  }
  expect(errors[0]).toBeCloseTo((1 + 0.25 + 0.25 + 1 + 4) / 6, 5);
  expect(errors.at(-1)).toBeLessThan(0.01);
  const { values } = await trainer.forward(batch);
  for (const [at, target] of [1, 0.5, -0.5].entries())
    expect(Math.abs((values?.[0]?.[at] ?? 9) - target)).toBeLessThan(0.25);
});

test('the text to judge ends before the token, so the token itself does not count', async () => {
  const trainer = trainerOf(headed);
  await trainer.forwardBackward([sequence({ valueTargets: Float32Array.of(1, 0.5, -0.5) })], critic);
  trainer.optimStep({ learningRate: 0.05 });
  const one = await trainer.forward([sequence()]);
  const other = await trainer.forward([sequence({ tokenIds: Int32Array.of(269, 72, 105, 270, 65, 66, 99) })]);
  const hotter = await trainer.forward([sequence({ temperature: 2 })]);
  expect(one.values?.[0]?.[2]).not.toBe(0);
  expect(other.values).toEqual(one.values);
  expect(hotter.values).toEqual(one.values);
});

test('gradients of the value agree with finite differences in every tensor', async () => {
  const parameters = initialParameters(headed, Random.fromSeed(5));
  parameters.set(
    Array.from({ length: headed.width + 1 }, (_, at) => Math.sin(at)),
    parameters.length - headed.width - 1,
  );
  const batch = [sequence({ valueTargets: Float32Array.of(3, -1, 2) })];
  const trainer = trainerOf(headed, parameters);
  await trainer.forwardBackward(batch, critic);
  const gradients = trainer.pendingGradients();
  const lossAt = async (place: number, by: number): Promise<number> =>
    (
      await trainerOf(
        headed,
        parameters.map((value, at) => (at === place ? value + by : value)),
      ).forwardBackward(batch, critic)
    ).loss;
  for (const { name, offset, size } of parameterLayout(headed).tensors) {
    const within = gradients.subarray(offset, offset + size);
    const steepest = within.reduce((best, value, at) => (Math.abs(value) > Math.abs(within[best] ?? 0) ? at : best), 0);
    // The value has no gradient through the output embeddings.
    if (name === 'unembedding') expect(within.every((value) => value === 0)).toBe(true);
    else {
      const slope = ((await lossAt(offset + steepest, 2e-3)) - (await lossAt(offset + steepest, -2e-3))) / 4e-3;
      expect(Math.abs(slope / (within[steepest] ?? 0) - 1), name).toBeLessThan(0.03);
    }
  }
});

test('the clip fraction of the value is reported', async () => {
  const batch = [
    sequence({
      valueTargets: Float32Array.of(1, 1, 1),
      // The values are 0: held at -0.3, which is further off; at 0.1, which is nearer; and not held.
      samplingValues: Float32Array.of(-0.5, 0.3, 0.1),
    }),
  ];
  const loss = { name: 'importance_sampling', parameters: { value_coefficient: 1, value_clip: 0.2 } };
  const { metrics, loss: sum } = await trainerOf(headed).forwardBackward(batch, loss);
  expect(metrics['value/clip_fraction']).toBeCloseTo(1 / 3, 6);
  expect(sum).toBeCloseTo((1.3 ** 2 + 1 + 1) / 2, 5);
});

describe('is rejected', () => {
  const targets = { valueTargets: new Float32Array(3) };
  test.each([
    ['a value term without a value head', smallConfig, targets, {}, /the model has no value head/],
    ['a value term without targets', headed, {}, {}, /valueTargets is missing; value_coefficient is not 0/],
    ['a clip without the values before', headed, targets, { value_clip: 0.2 }, /samplingValues is missing/],
    ['a target that is not a number', headed, { valueTargets: Float32Array.of(0, Number.NaN, 0) }, {}, /\[1\] is NaN/],
  ] as const)('%s', async (...[, config, fields, parameters, message]) => {
    const loss = { ...critic, parameters: { ...critic.parameters, ...parameters } };
    await expect(trainerOf(config).forwardBackward([sequence(fields)], loss)).rejects.toThrow(message);
  });
});
