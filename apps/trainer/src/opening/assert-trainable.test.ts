import { expect, test } from 'vitest';
import { assertTrainable } from './assert-trainable.ts';

const sync = { mode: 'sync' } as const;
const features = ['unit_temperature', 'on_policy_only'] as const;

test.each([
  [{ sampling: { temperature: 0.7 }, collection: sync }, /samples of temperature 1 and topP 1 only/],
  [{ sampling: { topP: 0.9 }, collection: sync }, /feature unit_temperature/],
  [{ sampling: {}, collection: { mode: 'async' } }, /feature on_policy_only/],
] as const)('%j is refused where the runtime cannot train so', (config, message) => {
  expect(() => assertTrainable(config, { features })).toThrow(message);
  expect(() => assertTrainable(config, { features: [] })).not.toThrow();
});

test('samples of temperature 1, collected in steps, are trained everywhere', () => {
  const config = { sampling: { temperature: 1, topP: 1 }, collection: sync };
  expect(() => assertTrainable(config, { features })).not.toThrow();
});
