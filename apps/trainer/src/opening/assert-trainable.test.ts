import { expect, test } from 'vitest';
import { assertTrainable } from './assert-trainable.ts';

const sync = { mode: 'sync' } as const;
const losses = [{ name: 'ppo', version: 1, defaults: { clip_low: 0.2 } }];
const policies = [{ algorithm: { type: 'grpo' } }] as const;
const features = ['unit_temperature', 'on_policy_only'] as const;

test.each([
  [{ sampling: { temperature: 0.7 }, collection: sync }, /samples of temperature 1 and topP 1 only/],
  [{ sampling: { topP: 0.9 }, collection: sync }, /feature unit_temperature/],
  [{ sampling: {}, collection: { mode: 'async' } }, /feature on_policy_only/],
] as const)('%j is refused where the runtime cannot train so', (config, message) => {
  expect(() => assertTrainable({ policies, ...config }, { features, losses })).toThrow(message);
  expect(() => assertTrainable({ policies, ...config }, { features: [], losses })).not.toThrow();
});

test('samples of temperature 1, collected in steps, are trained everywhere', () => {
  const config = { sampling: { temperature: 1, topP: 1 }, collection: sync, policies };
  expect(() => assertTrainable(config, { features, losses })).not.toThrow();
});

test('an entropy bonus is refused where no loss has it', () => {
  const config = {
    sampling: {},
    collection: sync,
    policies: [{ algorithm: { type: 'grpo', entropyCoefficient: 0.01 } }],
  } as const;
  expect(() => assertTrainable(config, { losses })).toThrow('the runtime has no entropy bonus');
  const known = [{ name: 'ppo', version: 1, defaults: { entropy_coefficient: 0 } }];
  expect(() => assertTrainable(config, { losses: known })).not.toThrow();
});
