import { describe, expect, it } from 'vitest';
import { referenceTokenLoss } from './reference-loss.ts';

/*
 * Numbers worked out apart from this code: the formulas as the papers write them (objectives as minima, to be maximised),
 * with 50 digits, slopes by numerical differentiation with what carries no gradient held. Ratios lie below, inside and
 * above every clip, and beyond the bound of 20 nats.
 */

type Numbers = readonly (readonly number[])[];
type FiveNumbers = readonly [number, number, number, number, number];
type SixNumbers = readonly [...FiveNumbers, number];

/** Loss, parameters, and for each token: logprob, sampling logprob, advantage (for gspo also the mean log-ratio), value, slope. */
const policyLosses: readonly (readonly [string, Readonly<Record<string, number>>, Numbers])[] = [
  [
    'cross_entropy',
    {},
    [
      [-0.3, -0.9, 1.7, 0.3, -1.0],
      [-1.2, -0.4, -0.8, 1.2, -1.0],
      [-2.5, -2.4, 0.6, 2.5, -1.0],
      [-0.2, -2.9, -1.1, 0.2, -1.0],
      [-0.05, -30.5, 0.5, 0.05, -1.0],
      [-3.1, -0.7, 2.2, 3.1, -1.0],
    ],
  ],
  [
    'importance_sampling',
    {},
    [
      [-0.3, -0.9, 1.7, -3.0976019606639, -3.0976019606639],
      [-1.2, -0.4, -0.8, 0.35946317129378, 0.35946317129378],
      [-2.5, -2.4, 0.6, -0.54290245082158, -0.54290245082158],
      [-0.2, -2.9, -1.1, 16.36770489736, 16.36770489736],
      [-0.05, -30.5, 0.5, -242582597.7049, 0.0],
      [-3.1, -0.7, 2.2, -0.19957949723671, -0.19957949723671],
    ],
  ],
  [
    'ppo',
    { clip_low: 0.2, clip_high: 0.28, dual_clip: 3 },
    [
      [-0.3, -0.9, 1.7, -2.176, 0.0],
      [-1.2, -0.4, -0.8, 0.64, 0.0],
      [-2.5, -2.4, 0.6, -0.54290245082158, -0.54290245082158],
      [-0.2, -2.9, -1.1, 3.3, 0.0],
      [-0.05, -30.5, 0.5, -0.64, 0.0],
      [-3.1, -0.7, 2.2, -0.19957949723671, -0.19957949723671],
    ],
  ],
  [
    'ppo',
    { clip_low: 0.3, clip_high: 0.1, dual_clip: 0 },
    [
      [-0.3, -0.9, 1.7, -1.87, 0.0],
      [-1.2, -0.4, -0.8, 0.56, 0.0],
      [-2.5, -2.4, 0.6, -0.54290245082158, -0.54290245082158],
      [-0.2, -2.9, -1.1, 16.36770489736, 16.36770489736],
      [-0.05, -30.5, 0.5, -0.55, 0.0],
      [-3.1, -0.7, 2.2, -0.19957949723671, -0.19957949723671],
    ],
  ],
  [
    'cispo',
    { clip_low: 1, clip_high: 3 },
    [
      [-0.3, -0.9, 1.7, 0.92928058819916, -3.0976019606639],
      [-1.2, -0.4, -0.8, -0.43135580555253, 0.35946317129378],
      [-2.5, -2.4, 0.6, 1.3572561270539, -0.54290245082158],
      [-0.2, -2.9, -1.1, -0.88, 4.4],
      [-0.05, -30.5, 0.5, 0.1, -2.0],
      [-3.1, -0.7, 2.2, 0.61869644143379, -0.19957949723671],
    ],
  ],
  [
    'cispo',
    { clip_low: 0.2, clip_high: 0.4 },
    [
      [-0.3, -0.9, 1.7, 0.714, -2.38],
      [-1.2, -0.4, -0.8, -0.768, 0.64],
      [-2.5, -2.4, 0.6, 1.3572561270539, -0.54290245082158],
      [-0.2, -2.9, -1.1, -0.308, 1.54],
      [-0.05, -30.5, 0.5, 0.035, -0.7],
      [-3.1, -0.7, 2.2, 5.456, -1.76],
    ],
  ],
  [
    'gspo',
    { clip_low: 0.0003, clip_high: 0.0004 },
    [
      [-0.3, -0.9, 1.7, 0.0002, -1.7003400340023, -1.7003400340023],
      [-1.2, -0.4, -0.8, -0.15, 0.79976, 0.0],
      [-2.5, -2.4, 0.6, 0.25, -0.60024, 0.0],
      [-0.2, -2.9, -1.1, -0.31, 1.09967, 0.0],
      [-0.05, -30.5, 0.5, 21.5, -0.5002, 0.0],
      [-3.1, -0.7, 2.2, 0.0, -2.2, -2.2],
    ],
  ],
  [
    'gspo',
    { clip_low: 0.2, clip_high: 0.3 },
    [
      [-0.3, -0.9, 1.7, 0.0002, -1.7003400340023, -1.7003400340023],
      [-1.2, -0.4, -0.8, -0.15, 0.68856638114005, 0.68856638114005],
      [-2.5, -2.4, 0.6, 0.25, -0.77041525001264, -0.77041525001264],
      [-0.2, -2.9, -1.1, -0.31, 0.88, 0.0],
      [-0.05, -30.5, 0.5, 21.5, -0.65, 0.0],
      [-0.05, -30.5, -0.5, 21.5, 242582597.7048951, 0.0],
      [-3.1, -0.7, 2.2, 0.0, -2.2, -2.2],
    ],
  ],
  [
    'dro',
    { beta: 0.05 },
    [
      [-0.3, -0.9, 1.7, 0.519, -1.67],
      [-1.2, -0.4, -0.8, -0.944, 0.76],
      [-2.5, -2.4, 0.6, 1.50025, -0.605],
      [-0.2, -2.9, -1.1, -0.03775, 1.235],
      [-0.05, -30.5, 0.5, 23.2050625, 1.0225],
      [-3.1, -0.7, 2.2, 6.964, -2.32],
    ],
  ],
  [
    'dro',
    { beta: 0.7 },
    [
      [-0.3, -0.9, 1.7, 0.636, -1.28],
      [-1.2, -0.4, -0.8, -0.736, 0.24],
      [-2.5, -2.4, 0.6, 1.5035, -0.67],
      [-0.2, -2.9, -1.1, 2.3315, 2.99],
      [-0.05, -30.5, 0.5, 324.545875, 20.815],
      [-3.1, -0.7, 2.2, 8.836, -3.88],
    ],
  ],
];

/** Estimator, logprob, reference logprob, value, slope of `importance_sampling` with KL and entropy terms. */
const klTerms: readonly FiveNumbers[] = [
  [1, -1.1, -0.4, -0.83928804143208, -0.30328804143208],
  [1, -0.4, -1.1, -1.0308729268184, -0.9148729268184],
  [1, -0.01, -25, 5.6766560200812, -1.4943439799188],
  [2, -1.1, -0.4, -0.55578804143208, -0.81328804143208],
  [2, -0.4, -1.1, -1.1673729268184, -1.0048729268184],
  [2, -0.01, -25, 91.854671020081, 5.7026560200812],
  [3, -1.1, -0.4, -0.53516222919093, -0.90741385367322],
  [3, -0.4, -1.1, -1.181897335681, -1.0638485179558],
  [3, -0.01, -25, 3.8796560206996, -1.7943439799188],
];

/** Value, target, value before, clip; then value and slope of the critic's term. */
const criticTerms: readonly SixNumbers[] = [
  [0.5, 1.25, 0.5, 0, 0.28125, -0.75],
  [0.5, 1.25, 0.1, 0.2, 0.45125, 0], // the held value 0.3 is further off
  [0.5, 0.2, 0.1, 0.2, 0.045, 0.3], // the held value 0.3 is nearer, so it does not count
  [0.5, 1.25, 0.4, 0.2, 0.28125, -0.75], // not held
  [-1, 2, 0.5, 0.25, 4.5, -3], // held above, which is nearer
  [-1, -2, 0.5, 0.25, 2.53125, 0], // held above, which is further off
];

function expectNear(actual: number, expected: number): void {
  expect(Math.abs(actual - expected)).toBeLessThan(1e-9 * Math.max(1, Math.abs(expected)));
}

describe('the reference losses have the values and slopes worked out elsewhere', () => {
  it.each(policyLosses)('%s with %j', (name, parameters, tokens) => {
    for (const numbers of tokens) {
      const [logprob = 0, samplingLogprob = 0, advantage = 0] = numbers;
      const meanLogRatio = name === 'gspo' ? numbers[3] : undefined;
      const token = { logprob, samplingLogprob, advantage, meanLogRatio, entropy: 0.7 };
      const { value, logprobSlope } = referenceTokenLoss({ name, parameters }, token);
      expectNear(value, numbers.at(-2) ?? Number.NaN);
      expectNear(logprobSlope, numbers.at(-1) ?? Number.NaN);
    }
  });

  it.each(klTerms)('KL estimator k%d at %d against %d', (...numbers) => {
    const [estimator, logprob, referenceLogprob, expected, slope] = numbers;
    const parameters = { kl_coefficient: 0.3, kl_estimator: estimator, entropy_coefficient: 0.02 };
    const token = { logprob, samplingLogprob: -0.7, advantage: 0.9, entropy: 1.3, referenceLogprob };
    const result = referenceTokenLoss({ name: 'importance_sampling', parameters }, token);
    expectNear(result.value, expected);
    expectNear(result.logprobSlope, slope);
    expect(result.entropySlope).toBe(-0.02);
  });

  it.each(criticTerms)('the value %d for the target %d, before %d, clip %d', (...numbers) => {
    const [value, valueTarget, samplingValue, clip, expected, slope] = numbers;
    const parameters = { value_coefficient: 0.5, value_clip: clip };
    const token = { logprob: -1, samplingLogprob: -1, advantage: 0, entropy: 0, value, valueTarget, samplingValue };
    const result = referenceTokenLoss({ name: 'importance_sampling', parameters }, token);
    expectNear(result.value, 0.5 * expected);
    expectNear(result.valueSlope, 0.5 * slope);
    expect(Math.abs(result.logprobSlope)).toBe(0);
  });
});
