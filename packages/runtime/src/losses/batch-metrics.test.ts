import { expect, test } from 'vitest';
import { BatchMetrics, type MeasuredToken } from './batch-metrics.ts';
import { lossDefinitions } from './loss-definitions.ts';

/** Three tokens with the ratios 1, 2 and 1/4. */
const tokens: readonly MeasuredToken[] = [
  { logprob: -1, entropy: 1, samplingLogprob: -1, advantage: 1, referenceLogprob: -1 },
  { logprob: -1, entropy: 2, samplingLogprob: -1 - Math.LN2, advantage: 1, referenceLogprob: -1 - Math.LN2 },
  { logprob: -2, entropy: 3, samplingLogprob: -2 + 2 * Math.LN2, advantage: -1, referenceLogprob: -2 },
];

function summaryOf(
  name: string,
  parameters: Readonly<Record<string, number>> = {},
  sequences: readonly (readonly MeasuredToken[])[] = [tokens],
): Readonly<Record<string, number>> {
  const metrics = new BatchMetrics({ name, parameters: { ...defaultsOf(name), ...parameters } });
  for (const sequence of sequences) metrics.addSequence(sequence);
  return metrics.summary();
}

test('means over tokens, computed by hand', () => {
  const ln2 = Math.LN2;
  const expected = {
    'policy/logprob': -4 / 3,
    'policy/entropy': 2,
    // -ln r: 0, -ln 2 and 2 ln 2.
    'policy/kl_sampler': ln2 / 3,
    // r - 1 - ln r: 0, 1 - ln 2 and 2 ln 2 - 3/4.
    'policy/kl_sampler_k3': (ln2 + 0.25) / 3,
    'policy/logprob_gap': ln2,
    'policy/logprob_gap_max': 2 * ln2,
    'policy/ratio_mean': 3.25 / 3,
    'policy/ratio_max': 2,
    // (1 + 2 + 1/4)² / (3 · (1 + 4 + 1/16))
    'policy/effective_sample_fraction': 3.25 ** 2 / (3 * 5.0625),
    // exp(-d) + d - 1 with d = 0, ln 2, 0.
    'policy/kl_reference': (0.5 + ln2 - 1) / 3,
  };
  const summary = summaryOf('importance_sampling');
  for (const [name, value] of Object.entries(expected)) expect(summary[name], name).toBeCloseTo(value, 12);
  expect(summary['policy/clip_fraction']).toBe(0);
});

test.each([
  // A good token above and a bad one below are clipped, the others are not.
  ['ppo', { clip_low: 0.2, clip_high: 0.28 }, 2 / 3],
  ['ppo', { clip_low: 0.8, clip_high: 0.28 }, 1 / 3],
  ['ppo', { clip_low: 0.8, clip_high: 1.5 }, 0],
  // For any advantage.
  ['cispo', { clip_low: 0.2, clip_high: 0.28 }, 2 / 3],
  // The row’s ratio is 2 to the power of -1/3: the bad token is clipped.
  ['gspo', { clip_low: 0.01, clip_high: 0.01 }, 1 / 3],
  ['gspo', { clip_low: 0.3, clip_high: 0.01 }, 0],
  ['dro', {}, 0],
] as const)('the clip fraction: %s with %j', (name, parameters, fraction) => {
  expect(summaryOf(name, parameters)['policy/clip_fraction']).toBeCloseTo(fraction, 12);
});

test('the clip fraction by row for the row’s ratio', () => {
  const summary = summaryOf(
    'gspo',
    { clip_low: 0.01, clip_high: 0.01 },
    tokens.map((token) => [token]),
  );
  expect(summary['policy/clip_fraction']).toBeCloseTo(2 / 3, 12);
});

test('the KL of an outlier token is clamped as in the loss', () => {
  const far = tokens.map((token) => ({ ...token, referenceLogprob: token.logprob + 100 }));
  const summary = summaryOf('importance_sampling', {}, [far]);
  expect(summary['policy/kl_reference']).toBeCloseTo(Math.exp(20) - 21, 3);
});

test('metrics without tokens or columns are omitted', () => {
  expect(summaryOf('ppo', {}, [[]])).toEqual({});
  const bare = tokens.map(({ referenceLogprob: _, ...token }) => token);
  expect(Object.keys(summaryOf('ppo', {}, [bare]))).not.toContain('policy/kl_reference');
  expect(Object.keys(summaryOf('ppo'))).not.toContain('value/error');
});

test('the value head: its squared error, and its clip fraction', () => {
  const valued = [
    { ...tokens[0], value: 0, valueTarget: 1, samplingValue: -0.5 },
    { ...tokens[0], value: 0, valueTarget: -1, samplingValue: 0.5 },
    { ...tokens[1], value: 0, valueTarget: 2, samplingValue: 0.5 },
  ] as readonly MeasuredToken[];
  const summary = summaryOf('ppo', { value_coefficient: 1, value_clip: 0.2 }, [valued]);
  expect([summary['value/error'], summary['value/clip_fraction']]).toEqual([2, 2 / 3]);
  expect(summaryOf('ppo', { value_coefficient: 1 }, [valued])['value/clip_fraction']).toBe(0);
});

function defaultsOf(name: string): Readonly<Record<string, number>> {
  return lossDefinitions.find((loss) => loss.name === name)?.defaults ?? {};
}
