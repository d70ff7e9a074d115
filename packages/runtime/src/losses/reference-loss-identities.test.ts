import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type NamedLoss, referenceTokenLoss, type ScoredToken } from './reference-loss.ts';

/** Numbers in steps of a thousandth or less: none so small that rounding would decide. */
const between = (min: number, max: number): fc.Arbitrary<number> =>
  fc.integer({ min: 0, max: 10_000 }).map((share) => min + ((max - min) * share) / 10_000);

const policyLosses = ['importance_sampling', 'ppo', 'cispo', 'gspo', 'dro'];

/** Any loss with any setting of its parameters, and of those that every loss has. */
const anyLoss: fc.Arbitrary<NamedLoss> = fc
  .record({
    name: fc.constantFrom('cross_entropy', ...policyLosses),
    clip_low: between(0, 1),
    clip_high: between(0, 3),
    dual_clip: fc.oneof(fc.constant(0), between(1.01, 6)),
    beta: between(0, 1),
    entropy_coefficient: between(0, 0.5),
    kl_coefficient: fc.oneof(fc.constant(0), between(0, 1)),
    kl_estimator: fc.constantFrom(1, 2, 3),
    value_coefficient: fc.oneof(fc.constant(0), between(0, 1)),
    value_clip: fc.oneof(fc.constant(0), between(0.01, 2)),
  })
  .map(({ name, dual_clip, ...parameters }) => ({
    name,
    // The dual bound is of ppo alone.
    parameters: { ...parameters, dual_clip: name === 'ppo' ? dual_clip : 0 },
  }));

/** A token whose ratio may be anywhere from one twentieth to twenty. */
const anyToken: fc.Arbitrary<ScoredToken> = fc
  .record({
    logprob: between(-6, -0.01),
    shift: between(-3, 3),
    referenceLogprob: between(-6, -0.01),
    advantage: between(-3, 3),
    entropy: between(0, 4),
    value: between(-2, 2),
    valueTarget: between(-2, 2),
    samplingValue: between(-2, 2),
  })
  .map(({ shift, ...token }) => {
    const samplingLogprob = token.logprob - shift;
    return { ...token, samplingLogprob, meanLogRatio: token.logprob - samplingLogprob };
  });

const step = 1e-6;

/** Compares slopes with those that are measured by a small step to both sides, and counts what it could not tell. */
class SlopeCheck {
  #points = 0;
  #kinks = 0;

  /** Where there is a kink within the step, the slope is of one of its sides, or between them. */
  expectSlope(actual: number, valueAt: (by: number) => number): void {
    const right = (valueAt(step) - valueAt(0)) / step;
    const left = (valueAt(0) - valueAt(-step)) / step;
    const tolerance = 1e-4 * Math.max(1, Math.abs(right));
    this.#points += 1;
    if (Math.abs(right - left) > tolerance) this.#kinks += 1;
    expect(actual).toBeGreaterThan(Math.min(left, right) - tolerance);
    expect(actual).toBeLessThan(Math.max(left, right) + tolerance);
  }

  /** Most points say what the slope is, and not only where it lies between. */
  expectFewKinks(): void {
    expect(this.#points).toBeGreaterThan(0);
    expect(this.#kinks).toBeLessThanOrEqual(0.02 * this.#points);
  }
}

describe('slopes are those that small steps measure, for every loss and every setting', () => {
  it('by the log-probability', () => {
    const check = new SlopeCheck();
    const smooth = anyLoss.filter(({ name }) => name !== 'cispo' && name !== 'gspo');
    fc.assert(
      fc.property(smooth, anyToken, (loss, token) => {
        const valueAt = (by: number): number =>
          referenceTokenLoss(loss, { ...token, logprob: token.logprob + by }).value;
        check.expectSlope(referenceTokenLoss(loss, token).logprobSlope, valueAt);
      }),
      { numRuns: 500 },
    );
    check.expectFewKinks();
  });

  it('by the log-probability, for CISPO with the ratio held', () => {
    const check = new SlopeCheck();
    fc.assert(
      fc.property(anyLoss, anyToken, ({ parameters }, token) => {
        const loss = { name: 'cispo', parameters };
        // The sampler goes along, so the ratio stays; and so does what is clipped of it.
        const valueAt = (by: number): number =>
          referenceTokenLoss(loss, {
            ...token,
            logprob: token.logprob + by,
            samplingLogprob: token.samplingLogprob + by,
          }).value;
        check.expectSlope(referenceTokenLoss(loss, token).logprobSlope, valueAt);
      }),
      { numRuns: 300 },
    );
    check.expectFewKinks();
  });

  it('by each log-probability of a row, for GSPO with one advantage: the loss of the whole sequence', () => {
    const check = new SlopeCheck();
    const anyRow = fc.array(fc.tuple(between(-6, -0.01), between(-1, 1)), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(anyLoss, anyRow, between(-3, 3), ({ parameters }, row, advantage) => {
        const loss = { name: 'gspo', parameters: { ...parameters, kl_coefficient: 0, value_coefficient: 0 } };
        const rowLoss = (logprobs: readonly number[]): number => {
          const samplingLogprobs = row.map(([logprob, shift]) => logprob - shift);
          const meanLogRatio =
            logprobs.reduce((sum, logprob, at) => sum + logprob - (samplingLogprobs[at] ?? 0), 0) / row.length;
          return logprobs.reduce((sum, logprob, at) => {
            const token = { logprob, samplingLogprob: samplingLogprobs[at] ?? 0, advantage, meanLogRatio, entropy: 0 };
            return sum + referenceTokenLoss(loss, token).value;
          }, 0);
        };
        const logprobs = row.map(([logprob]) => logprob);
        const meanLogRatio = row.reduce((sum, [, shift]) => sum + shift, 0) / row.length;
        for (const [at, [logprob, shift]] of row.entries()) {
          const token = { logprob, samplingLogprob: logprob - shift, advantage, meanLogRatio, entropy: 0 };
          check.expectSlope(referenceTokenLoss(loss, token).logprobSlope, (by) =>
            rowLoss(logprobs.with(at, logprob + by)),
          );
        }
      }),
      { numRuns: 300 },
    );
    check.expectFewKinks();
  });

  it('by the entropy and by the value', () => {
    const check = new SlopeCheck();
    fc.assert(
      fc.property(anyLoss, anyToken, (loss, token) => {
        const { entropySlope, valueSlope } = referenceTokenLoss(loss, token);
        const entropyAt = (by: number): number =>
          referenceTokenLoss(loss, { ...token, entropy: token.entropy + by }).value;
        const valueAt = (by: number): number =>
          referenceTokenLoss(loss, { ...token, value: (token.value ?? 0) + by }).value;
        check.expectSlope(entropySlope, entropyAt);
        check.expectSlope(valueSlope, valueAt);
      }),
      { numRuns: 300 },
    );
    check.expectFewKinks();
  });
});

describe('identities between the losses', () => {
  const plain = { clip_low: 0.2, clip_high: 0.28, dual_clip: 0, beta: 0.05 };
  const lossOf = (name: string, token: ScoredToken, parameters: Readonly<Record<string, number>> = plain) =>
    referenceTokenLoss({ name, parameters }, token);

  it('where the policy is the sampler, every policy loss has the gradient of REINFORCE: minus the advantage', () => {
    fc.assert(
      fc.property(anyToken, anyLoss, ({ logprob, advantage }, { parameters }) => {
        const bare = { ...parameters, kl_coefficient: 0 };
        const token = { logprob, samplingLogprob: logprob, advantage, meanLogRatio: 0, entropy: 0 };
        for (const name of policyLosses) {
          const { logprobSlope } = lossOf(name, token, bare);
          expect(Math.abs(logprobSlope + advantage)).toBeLessThan(1e-12);
        }
      }),
    );
  });

  it('PPO is importance sampling where no clip is in force, and CISPO has its gradient', () => {
    fc.assert(
      fc.property(anyToken, (token) => {
        const wide = { clip_low: 1, clip_high: 1e6, dual_clip: 0 };
        const expected = lossOf('importance_sampling', token);
        expect(lossOf('ppo', token, wide)).toEqual(expected);
        expect(lossOf('cispo', token, wide).logprobSlope).toBeCloseTo(expected.logprobSlope, 12);
      }),
    );
  });

  it('GSPO with one token is PPO without a dual bound', () => {
    fc.assert(
      fc.property(anyToken, (token) => {
        expect(lossOf('gspo', token)).toEqual(lossOf('ppo', token));
      }),
    );
  });

  it('DRO without its square is REINFORCE, and pulls back to the sampler with it', () => {
    fc.assert(
      fc.property(anyToken, between(0, 2), (token, beta) => {
        const slope = (given: number): number => lossOf('dro', token, { beta: given }).logprobSlope;
        expect(slope(0) + token.advantage).toBe(0);
        expect(slope(beta) - slope(0)).toBeCloseTo(beta * (token.logprob - token.samplingLogprob), 10);
      }),
    );
  });

  it('a clip is never below the plain loss, and the dual bound never above the clipped one', () => {
    fc.assert(
      fc.property(anyToken, between(1.01, 5), (token, dual) => {
        const clipped = lossOf('ppo', token).value;
        expect(clipped).toBeGreaterThanOrEqual(lossOf('importance_sampling', token).value);
        expect(lossOf('ppo', token, { ...plain, dual_clip: dual }).value).toBeLessThanOrEqual(clipped);
      }),
    );
  });

  it('beyond the upper clip a good token has no gradient with PPO and one with CISPO; below it, both', () => {
    fc.assert(
      fc.property(anyToken, between(0.01, 3), (token, advantage) => {
        const good = { ...token, advantage };
        const isBeyond = Math.exp(token.logprob - token.samplingLogprob) > 1.28;
        expect(lossOf('ppo', good).logprobSlope === 0).toBe(isBeyond);
        expect(lossOf('cispo', good).logprobSlope).toBeLessThan(0);
      }),
    );
  });

  it('k3 is never negative, k2 neither, and all three agree to first order near the reference', () => {
    fc.assert(
      fc.property(anyToken, between(-1e-4, 1e-4), (token, difference) => {
        const near = { ...token, advantage: 0, referenceLogprob: token.logprob - difference };
        const kl = (estimator: number, given: ScoredToken): number =>
          lossOf('importance_sampling', given, { kl_coefficient: 1, kl_estimator: estimator }).value;
        for (const estimator of [2, 3]) {
          expect(kl(estimator, { ...token, advantage: 0 })).toBeGreaterThanOrEqual(0);
          expect(Math.abs(kl(estimator, near) - difference ** 2 / 2)).toBeLessThan(1e-11);
        }
        expect(kl(1, near)).toBeCloseTo(difference, 12);
      }),
    );
  });

  it('the clip of the value only ever raises its loss, and 0 turns it off', () => {
    fc.assert(
      fc.property(anyToken, between(0.01, 2), (token, clip) => {
        const critic = (value_clip: number): number =>
          lossOf('importance_sampling', { ...token, advantage: 0 }, { value_coefficient: 1, value_clip }).value;
        expect(critic(clip)).toBeGreaterThanOrEqual(critic(0));
        expect(critic(0)).toBeCloseTo(((token.value ?? 0) - (token.valueTarget ?? 0)) ** 2 / 2, 12);
      }),
    );
  });
});
