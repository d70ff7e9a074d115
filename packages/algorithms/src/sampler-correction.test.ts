import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { correctionFactors, type SamplerCorrection, samplerRatios } from './sampler-correction.ts';

/** Ratios of 0.5, 1, 3 and 8 between trainer and sampler. */
const sampling = [-1, -1, -2, -3];
const current = [0.5, 1, 3, 8].map((ratio, token) => (sampling[token] ?? 0) + Math.log(ratio));

function factors(correction: SamplerCorrection): readonly number[] {
  return [...correctionFactors(samplerRatios(current, sampling, { level: correction.level }), correction)];
}

describe('by hand', () => {
  test.each<[SamplerCorrection, readonly number[]]>([
    [{ type: 'truncate' }, [0.5, 1, 2, 2]],
    [{ type: 'truncate', max: 4 }, [0.5, 1, 3, 4]],
    [{ type: 'mask' }, [0.5, 1, 0, 0]],
    [{ type: 'mask', min: 0.9, max: 4 }, [0, 1, 3, 0]],
    // The product of the row is 12.
    [{ type: 'truncate', level: 'sequence' }, [5, 5, 5, 5]],
    [{ type: 'truncate', level: 'sequence', max: 20 }, [12, 12, 12, 12]],
    [{ type: 'mask', level: 'sequence' }, [0, 0, 0, 0]],
    [{ type: 'mask', level: 'sequence', max: 20 }, [12, 12, 12, 12]],
  ])('%j', (correction, expected) => {
    for (const [token, value] of expected.entries()) expect(factors(correction)[token]).toBeCloseTo(value, 5);
  });
});

const logprobs = fc.array(fc.double({ min: -30, max: 0, noNaN: true }), { minLength: 1, maxLength: 12 });
const corrections = fc.constantFrom<SamplerCorrection>(
  { type: 'truncate' },
  { type: 'truncate', level: 'sequence' },
  { type: 'mask', min: 0.5 },
  { type: 'mask', level: 'sequence' },
);

test('a sampler that is the policy in training is not corrected', () => {
  fc.assert(
    fc.property(logprobs, corrections, (own, correction) => {
      const ratios = samplerRatios(own, own, { level: correction.level });
      expect([...correctionFactors(ratios, correction)]).toEqual(own.map(() => 1));
    }),
  );
});

test('factors are finite, at least 0 and at most the bound, whatever the log-probabilities are', () => {
  fc.assert(
    fc.property(logprobs, fc.double({ min: -700, max: 700, noNaN: true }), corrections, (own, shift, correction) => {
      const ratios = samplerRatios(
        own.map((logprob) => logprob + shift),
        own,
        { level: correction.level },
      );
      const max = correction.level === 'sequence' ? 5 : 2;
      for (const factor of correctionFactors(ratios, correction)) expect(factor >= 0 && factor <= max).toBe(true);
    }),
  );
});

test('the expectation under the sampler of an uncut token weight is 1: importance sampling is unbiased', () => {
  const q = [0.5, 0.3, 0.2];
  const p = [0.4, 0.4, 0.2];
  const ratios = samplerRatios(p.map(Math.log), q.map(Math.log));
  expect(q.reduce((sum, probability, token) => sum + probability * (ratios[token] ?? 0), 0)).toBeCloseTo(1, 12);
});
