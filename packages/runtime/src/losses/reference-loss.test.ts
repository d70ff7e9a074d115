import { describe, expect, it } from 'vitest';
import { type NamedLoss, referenceTokenLoss, type ScoredToken } from './reference-loss.ts';

const token = (logprob: number, samplingLogprob: number, advantage: number): ScoredToken => ({
  logprob,
  samplingLogprob,
  advantage,
  entropy: 0,
});

/** Ratios of one half, one and ten. */
const tokens = [token(-1.693147, -1, 1), token(-1, -1, -1), token(-0.697415, -3, -4)];

const values = (loss: NamedLoss): number[] => tokens.map((each) => referenceTokenLoss(loss, each).value);
const slopes = (loss: NamedLoss): number[] => tokens.map((each) => referenceTokenLoss(loss, each).logprobSlope);

const clip = { clip_low: 0.2, clip_high: 0.2 };

describe('the reference losses', () => {
  it.each([
    ['cross_entropy', {}, [1.693147, 1, 0.697415]],
    ['importance_sampling', {}, [-0.5, 1, 40]],
    ['ppo', { ...clip, dual_clip: 0 }, [-0.5, 1, 40]],
    ['ppo', { ...clip, dual_clip: 3 }, [-0.5, 1, 12]],
    ['ppo', { ...clip, dual_clip: 10 }, [-0.5, 1, 40]],
    ['cispo', clip, [1.354518, -1, -3.347592]],
    ['gspo', { ...clip, dual_clip: 0 }, [-0.5, 1, 40]],
    ['dro', { beta: 0.5 }, [1.81326, -1, -1.464199]],
  ])('give the values worked out by hand for %s with %j', (name, parameters, expected) => {
    for (const [at, value] of values({ name, parameters }).entries()) expect(value).toBeCloseTo(expected[at] ?? 0, 4);
  });

  it('stop the gradient where a clip is in force, but CISPO keeps it', () => {
    expect(slopes({ name: 'ppo', parameters: { ...clip, dual_clip: 3 } })[2]).toBe(0);
    const cispo = slopes({ name: 'cispo', parameters: clip });
    for (const [at, expected] of [-0.8, 1, 4.8].entries()) expect(cispo[at]).toBeCloseTo(expected, 6);
  });

  it.each([
    [1, 0.3, 1],
    [2, 0.045, 0.3],
    [3, Math.exp(-0.3) + 0.3 - 1, 1 - Math.exp(-0.3)],
  ])('estimate KL as k%d', (estimator, value, slope) => {
    const loss = { name: 'importance_sampling', parameters: { kl_coefficient: 1, kl_estimator: estimator } };
    const result = referenceTokenLoss(loss, { ...token(-1, -1, 0), referenceLogprob: -1.3 });
    expect(result.value).toBeCloseTo(value, 10);
    expect(result.logprobSlope).toBeCloseTo(slope, 10);
  });
});
