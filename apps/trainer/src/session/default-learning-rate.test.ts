import { expect, test } from 'vitest';
import { defaultLearningRate } from './default-learning-rate.ts';

test.each([
  ['a tiny model', { trainableParameterCount: 1e6 }, 2e-3],
  ['all weights of a small model', { trainableParameterCount: 135e6 }, 1e-5],
  ['all weights of a large model', { trainableParameterCount: 8e9 }, 1e-6],
  ['a LoRA adapter', { trainableParameterCount: 5e6, lora: { rank: 8 } }, 1e-4],
  ['a model of unknown size', {}, 1e-5],
])('the default learning rate fits %s', (_, state, rate) => {
  expect(defaultLearningRate(state)).toBe(rate);
});
