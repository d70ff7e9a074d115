import { lossDefinitions } from '@agentlightning/runtime/internal/losses';
import { expect, test } from 'vitest';
import { resolveLoss } from './loss-spec.ts';

test('defaults are filled in', () => {
  expect(resolveLoss({ name: 'ppo', parameters: { clip_high: 0.28 } }).parameters).toEqual({
    clip_low: 0.2,
    clip_high: 0.28,
    dual_clip: 3,
    entropy_coefficient: 0,
    kl_coefficient: 0,
    kl_estimator: 3,
    value_coefficient: 0,
    value_clip: 0,
  });
});

test('an unknown loss is rejected with the list of known ones', () => {
  const names = lossDefinitions.map(({ name }) => name).join(', ');
  expect(() => resolveLoss({ name: 'reward_shaping', parameters: {} })).toThrow(names);
});

test('an unknown parameter is rejected with the list of accepted ones', () => {
  const spec = { name: 'cispo', parameters: { epsilon: 0.2 } };
  expect(() => resolveLoss(spec)).toThrow(/"epsilon".*clip_low, clip_high/);
});

test.each([
  ['clip_low', -0.1],
  ['entropy_coefficient', Number.NaN],
  ['kl_estimator', 4],
])('%s of %d is rejected', (key, value) => {
  expect(() => resolveLoss({ name: 'ppo', parameters: { [key]: value } })).toThrow(key);
});
