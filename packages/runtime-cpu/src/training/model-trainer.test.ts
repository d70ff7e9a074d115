import type { TrainingDatum } from '@agentlightning/core/training-runtime';
import { expect, test } from 'vitest';
import { expectCloseGradients } from '../../test/expect-close-gradients.ts';
import { datum, smallConfig } from '../../test/small-model.ts';
import { initialParameters, parameterLayout } from '../model/parameters.ts';
import { Random } from '../random.ts';
import { ModelTrainer } from './model-trainer.ts';
import { initialAdamState } from './optimizer.ts';

const loss = { name: 'importance_sampling', parameters: { entropy_coefficient: 0.05, kl_coefficient: 0.1 } };

function makeTrainer(parameters = initialParameters(smallConfig, Random.fromSeed(5))) {
  const adam = initialAdamState(parameters.length);
  return { parameters, trainer: new ModelTrainer({ config: smallConfig, parameters, adam }) };
}

function randomDatum(random: Random, length: number, fields: Partial<TrainingDatum> = {}): TrainingDatum {
  const count = 3;
  const draw = (scale: number, shift: number): Float32Array =>
    Float32Array.from({ length: count }, () => random.nextNormal() * scale + shift);
  return datum(
    Array.from({ length }, () => random.nextInteger(268)),
    {
      count,
      samplingLogprobs: draw(0.2, -5.6),
      referenceLogprobs: draw(0.2, -5.6),
      advantages: draw(1, 0),
      weights: draw(0.1, 0.5),
      ...fields,
    },
  );
}

async function gradientsOf(...batches: readonly TrainingDatum[][]): Promise<Float32Array> {
  const { trainer } = makeTrainer();
  for (const batch of batches) await trainer.forwardBackward(batch, loss);
  return trainer.pendingGradients();
}

test('gradients agree with finite differences in every tensor', async () => {
  const random = Random.fromSeed(2);
  const batch = [randomDatum(random, 9, { temperature: 0.8 }), randomDatum(random, 6)];
  const gradients = await gradientsOf(batch);
  const lossAt = async (place: number, shift: number): Promise<number> => {
    const { parameters, trainer } = makeTrainer();
    parameters[place] = (parameters[place] ?? 0) + shift;
    return (await trainer.forwardBackward(batch, loss)).loss;
  };
  for (const { name, offset, size } of parameterLayout(smallConfig).tensors) {
    const within = gradients.subarray(offset, offset + size);
    const steepest = within.reduce((best, value, at) => (Math.abs(value) > Math.abs(within[best] ?? 0) ? at : best), 0);
    const slope = (await lossAt(offset + steepest, 5e-3)) - (await lossAt(offset + steepest, -5e-3));
    expect(Math.abs(slope / 1e-2 / (within[steepest] ?? 0) - 1), name).toBeLessThan(0.03);
  }
});

test('gradients do not depend on how a batch is split, ordered or padded', async () => {
  const random = Random.fromSeed(3);
  const batch = Array.from({ length: 40 }, (_, index) => randomDatum(random, 5 + index));
  const together = await gradientsOf(batch);
  expectCloseGradients(await gradientsOf(batch.slice(0, 7), batch.slice(7)), together);
  expectCloseGradients(await gradientsOf(batch.toReversed()), together);
});

test('the log-probabilities of a datum do not depend on the batch', async () => {
  const random = Random.fromSeed(4);
  const short = randomDatum(random, 8);
  const { trainer } = makeTrainer();
  const alone = (await trainer.forward([short])).logprobs[0];
  const padded = (await trainer.forward([randomDatum(random, 60), short])).logprobs[1];
  for (const [index, value] of (alone ?? []).entries()) expect(padded?.[index]).toBeCloseTo(value, 5);
  expect(alone).toHaveLength(3);
});

test('a token of weight 0 has no effect, regardless of its other values', async () => {
  const random = Random.fromSeed(6);
  const clean = randomDatum(random, 9, { weights: Float32Array.of(1, 0, 1) });
  const spoil = (values: Float32Array): Float32Array => values.with(1, Number.NaN);
  const spoiled = {
    ...clean,
    samplingLogprobs: spoil(clean.samplingLogprobs),
    referenceLogprobs: spoil(clean.referenceLogprobs ?? new Float32Array(3)),
    advantages: spoil(clean.advantages),
  };
  expect(await gradientsOf([spoiled])).toEqual(await gradientsOf([clean]));
});

test('tokens after the last trained one are not read', async () => {
  const random = Random.fromSeed(7);
  const whole = randomDatum(random, 20);
  const cut = { ...whole, trained: [{ start: 4, end: 7 }] };
  const other = { ...cut, tokenIds: cut.tokenIds.map((token, at) => (at < 7 ? token : 1)) };
  expect(await gradientsOf([other])).toEqual(await gradientsOf([cut]));
});

test('a gradient that is not finite skips the step and keeps weights and moments', async () => {
  const { parameters, trainer } = makeTrainer();
  const before = Float32Array.from(parameters);
  const huge = randomDatum(Random.fromSeed(8), 9, { advantages: new Float32Array(3).fill(3e38) });
  await trainer.forwardBackward([huge], loss);
  expect(trainer.optimStep({ learningRate: 0.1 })).toMatchObject({ isSkipped: true, step: 0, updateNorm: 0 });
  expect(parameters).toEqual(before);
  expect(trainer.hasPendingGradients).toBe(false);
});

test('a step without gradients is rejected', () => {
  const { trainer } = makeTrainer();
  expect(() => trainer.optimStep({ learningRate: 0.1 })).toThrow(/no gradients/);
});

test.each([
  ['a token outside of the vocabulary', { tokenIds: Int32Array.of(1, 2, 3, 4, 999) }, /Datum 1 .*999/],
  ['a trained token that cannot be generated', { tokenIds: Int32Array.of(1, 2, 3, 4, 270) }, /can be read/],
  ['an interval from position 0', { trained: [{ start: 0, end: 3 }] }, /\[0, 3\)/],
  ['an interval beyond the end', { trained: [{ start: 3, end: 6 }] }, /\[3, 6\)/],
  ['a column of another length', { advantages: new Float32Array(2) }, /advantages has 2 values for 3/],
  ['a log-probability that is not a number', { samplingLogprobs: Float32Array.of(-1, Number.NaN, -1) }, /\[1\] is NaN/],
  ['a temperature of 0', { temperature: 0 }, /temperature is 0/],
])('a batch with %s is rejected and keeps the gradients', async (_, fields, message) => {
  const { trainer } = makeTrainer();
  const good = randomDatum(Random.fromSeed(9), 5);
  const batch = [good, { ...good, ...fields }];
  await expect(trainer.forwardBackward(batch, loss)).rejects.toThrow(message);
  expect(trainer.hasPendingGradients).toBe(false);
});

test('metrics measure the distance to the sampling policy', async () => {
  const { trainer } = makeTrainer();
  const fresh = randomDatum(Random.fromSeed(10), 9, { weights: new Float32Array(3).fill(1) });
  const [logprobs = new Float32Array()] = (await trainer.forward([fresh])).logprobs;
  const moved = { ...fresh, samplingLogprobs: logprobs.map((value) => value - Math.log(2)) };
  const { metrics, trainedTokens } = await trainer.forwardBackward([moved], { name: 'ppo', parameters: {} });
  const good = fresh.advantages.filter((advantage) => advantage > 0).length;
  expect(trainedTokens).toBe(3);
  expect(metrics['policy/ratio_mean']).toBeCloseTo(2, 4);
  expect(metrics['policy/kl_sampler']).toBeCloseTo(-Math.log(2), 4);
  expect(metrics['policy/logprob_gap']).toBeCloseTo(Math.log(2), 4);
  expect(metrics['policy/effective_sample_fraction']).toBeCloseTo(1, 4);
  expect(metrics['policy/clip_fraction']).toBeCloseTo(good / 3, 5);
  expect(metrics['policy/entropy']).toBeGreaterThan(0);
});

test('a KL term is rejected without reference log-probabilities', async () => {
  const { trainer } = makeTrainer();
  const batch = [randomDatum(Random.fromSeed(3), 6), datum([1, 2, 3, 4], { count: 2 })];
  await expect(trainer.forwardBackward(batch, loss)).rejects.toThrow(/Datum 1 .*referenceLogprobs is missing/);
  expect(trainer.hasPendingGradients).toBe(false);
});
