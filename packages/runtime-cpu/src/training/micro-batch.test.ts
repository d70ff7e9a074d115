import type { TrainingDatum } from '@agentlightning/core/training-runtime';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { expectCloseGradients } from '../../test/expect-close-gradients.ts';
import { datum, smallConfig } from '../../test/small-model.ts';
import { initialParameters } from '../model/parameters.ts';
import { Random } from '../random.ts';
import { planMicroBatches } from './micro-batch.ts';
import { ModelTrainer } from './model-trainer.ts';
import { initialAdamState } from './optimizer.ts';
import { toTrainingExample } from './training-example.ts';

/** Few tokens, so that many sequences begin alike. */
const sequence = fc.array(fc.integer({ min: 65, max: 67 }), { minLength: 2, maxLength: 9 });

test('a shared beginning stands once, and every example finds the path of its tokens', () => {
  fc.assert(
    fc.property(fc.array(sequence, { minLength: 1, maxLength: 20 }), (sequences) => {
      const examples = sequences.map((tokens, index) =>
        toTrainingExample(datum(tokens, { count: tokens.length - 1 }), index, smallConfig),
      );
      const [batch, ...others] = planMicroBatches(examples);
      expect(others).toEqual([]);
      const beginnings = sequences.flatMap((tokens) => tokens.slice(1).map((_, at) => tokens.slice(0, at + 1).join()));
      expect(batch?.tokens).toHaveLength(new Set(beginnings).size);
      for (const { example, contexts } of batch?.members ?? []) {
        const inputs = [...example.datum.tokenIds].slice(0, -1);
        expect(contexts.map((at) => batch?.tokens[at])).toEqual(inputs);
        expect(contexts.map((at) => batch?.depths[at])).toEqual(inputs.map((_, position) => position));
      }
    }),
  );
});

test('a long batch is cut, and no example is lost', () => {
  const examples = Array.from({ length: 40 }, (_, index) =>
    toTrainingExample(datum(Array<number>(100).fill(index), { count: 3 }), index, smallConfig),
  );
  const batches = planMicroBatches(examples);
  expect(batches.length).toBeGreaterThan(3);
  const members = batches.flatMap((batch) => batch.members.map(({ example }) => example.index));
  expect(members.toSorted((a, b) => a - b)).toEqual(examples.map(({ index }) => index));
});

async function gradientsOf(batches: readonly (readonly TrainingDatum[])[]): Promise<Float32Array> {
  const parameters = initialParameters(smallConfig, Random.fromSeed(3));
  const trainer = new ModelTrainer({ config: smallConfig, parameters, adam: initialAdamState(parameters.length) });
  for (const batch of batches) await trainer.forwardBackward(batch, { name: 'gspo', parameters: {} });
  return trainer.pendingGradients();
}

test('gradients of examples that share beginnings are those of separate ones', async () => {
  const random = Random.fromSeed(8);
  const tokens = (count: number): number[] => Array.from({ length: count }, () => random.nextInteger(268));
  const prompts = [tokens(30), tokens(12)];
  const data = Array.from({ length: 12 }, (_, index) => {
    const rest = tokens(3 + random.nextInteger(6));
    const advantages = new Float32Array(rest.length).fill(random.nextNormal());
    const temperature = index % 3 === 0 ? 0.7 : 1;
    return datum([...(prompts[index % 2] ?? []), ...rest], { count: rest.length, advantages, temperature });
  });
  expectCloseGradients(await gradientsOf([data]), await gradientsOf(data.map((each) => [each])));
});
