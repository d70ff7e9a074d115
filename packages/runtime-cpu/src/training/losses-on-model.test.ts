import type { LossSpec, TrainingDatum } from '@agentlightning/core/training-runtime';
import { describe, expect, test } from 'vitest';
import { expectCloseGradients } from '../../test/expect-close-gradients.ts';
import { datum, smallConfig } from '../../test/small-model.ts';
import { initialParameters } from '../model/parameters.ts';
import { Random } from '../random.ts';
import { ModelTrainer } from './model-trainer.ts';
import { initialAdamState } from './optimizer.ts';

/*
 * Every loss through a whole model, entropy, KL and value terms included. All is float32, so gradients that should be
 * equal are so to a hundred-thousandth of the largest, and slopes that small steps measure to a hundredth.
 */

const config = { ...smallConfig, hasValueHead: true };

const terms = { entropy_coefficient: 0.05, value_coefficient: 0.5, value_clip: 0.4 };

/** CISPO with every ratio clipped to 1, and GSPO with one advantage a row, are gradients of what they compute. */
const losses: readonly LossSpec[] = [
  { name: 'cross_entropy', parameters: { ...terms, kl_coefficient: 0.1, kl_estimator: 1 } },
  { name: 'importance_sampling', parameters: { ...terms, kl_coefficient: 0.1, kl_estimator: 3 } },
  { name: 'ppo', parameters: { ...terms, clip_low: 0.05, clip_high: 0.1, dual_clip: 1.2 } },
  { name: 'cispo', parameters: { ...terms, clip_low: 0, clip_high: 0 } },
  { name: 'gspo', parameters: { ...terms, clip_low: 0.5, clip_high: 0.5 } },
  { name: 'dro', parameters: { ...terms, beta: 0.3, kl_coefficient: 0.1, kl_estimator: 2 } },
];

/** A model whose value head says something, as it does once it has learnt. */
function someParameters(): Float32Array {
  const parameters = initialParameters(config, Random.fromSeed(5));
  const random = Random.fromSeed(6);
  for (let at = parameters.length - config.width - 1; at < parameters.length; at++)
    parameters[at] = 0.1 * random.nextNormal();
  return parameters;
}

function trainerOf(parameters: Float32Array = someParameters()): ModelTrainer {
  return new ModelTrainer({ config, parameters, adam: initialAdamState(parameters.length) });
}

function randomDatum(random: Random, length: number): TrainingDatum {
  const count = 3;
  const draw = (scale: number, shift: number): Float32Array =>
    Float32Array.from({ length: count }, () => random.nextNormal() * scale + shift);
  const advantage = random.nextNormal();
  return datum(
    Array.from({ length }, () => random.nextInteger(268)),
    {
      count,
      samplingLogprobs: draw(0.3, -5.6),
      referenceLogprobs: draw(0.3, -5.6),
      advantages: new Float32Array(count).fill(advantage),
      weights: new Float32Array(count).fill(0.3 + random.nextInteger(4) / 10),
      valueTargets: draw(0.5, 0.5),
      samplingValues: draw(0.5, 0),
    },
  );
}

async function gradientsOf(loss: LossSpec, ...batches: readonly (readonly TrainingDatum[])[]): Promise<Float32Array> {
  const trainer = trainerOf();
  for (const batch of batches) await trainer.forwardBackward(batch, loss);
  return trainer.pendingGradients();
}

describe.each(losses)('$name through a model', (loss) => {
  const random = Random.fromSeed(11);
  const batch = [9, 6, 14].map((length) => randomDatum(random, length));

  test('along its own gradient the loss rises as steeply as the gradient is long', async () => {
    const gradients = await gradientsOf(loss, batch);
    const length = Math.hypot(...gradients);
    const lossAt = async (distance: number): Promise<number> => {
      const moved = someParameters().map((value, at) => value + (distance * (gradients[at] ?? 0)) / length);
      return (await trainerOf(moved).forwardBackward(batch, loss)).loss;
    };
    const step = 2e-3;
    const slope = ((await lossAt(step)) - (await lossAt(-step))) / (2 * step);
    expect(Math.abs(slope / length - 1)).toBeLessThan(0.01);
  });

  test('gradients do not depend on how a batch is split, ordered or padded', async () => {
    const together = await gradientsOf(loss, batch);
    expectCloseGradients(await gradientsOf(loss, batch.slice(0, 1), batch.slice(1)), together);
    expectCloseGradients(await gradientsOf(loss, batch.toReversed()), together);
    // With a long one in the batch all are padded to its length; of weight 0, it adds nothing.
    const long = { ...randomDatum(random, 60), weights: new Float32Array(3) };
    expectCloseGradients(await gradientsOf(loss, [long, ...batch]), together);
  });

  test('a token of weight 0 has no gradient at all, whatever is written beside it', async () => {
    const spoilt = new Float32Array(3).fill(Number.NaN);
    const silent = {
      ...randomDatum(random, 12),
      weights: new Float32Array(3),
      samplingLogprobs: spoilt,
      referenceLogprobs: spoilt,
      advantages: spoilt,
      valueTargets: spoilt,
      samplingValues: spoilt,
    };
    expect(await gradientsOf(loss, [silent])).toEqual(new Float32Array(someParameters().length));
  });
});
