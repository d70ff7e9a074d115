import { expect, test } from 'vitest';
import { lossSpec } from './loss-options.ts';

test.each([
  ['ppo', { clip_low: 0.2, clip_high: 0.28, dual_clip: 3, kl_coefficient: 0 }],
  ['cispo', { clip_low: 1, clip_high: 3, kl_coefficient: 0 }],
  ['importance_sampling', { kl_coefficient: 0 }],
] as const)('%s is sent with all of its parameters and no others', (loss, parameters) => {
  expect(lossSpec({ loss })).toEqual({ name: loss, parameters });
});

test('what is given takes the place of the defaults', () => {
  const given = { clipLow: 0.1, clipHigh: 0.4, dualClip: 0, entropyCoefficient: 0.02, klCoefficient: 0.001 };
  expect(lossSpec(given).parameters).toEqual({
    clip_low: 0.1,
    clip_high: 0.4,
    dual_clip: 0,
    entropy_coefficient: 0.02,
    kl_coefficient: 0.001,
  });
});
