import { referenceTokenLoss, type ScoredToken } from '@agentlightning/runtime/internal/losses';
import { grad, init, numpy as np } from '@jax-js/jax';
import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import { type ResolvedLoss, resolveLoss } from './loss-spec.ts';
import { type LossInput, lossSum } from './losses.ts';

beforeAll(async () => {
  await init('wasm');
});

/** Numbers in even steps: none so small that rounding would decide. */
const between = (min: number, max: number): fc.Arbitrary<number> =>
  fc.integer({ min: 0, max: 10_000 }).map((share) => min + ((max - min) * share) / 10_000);

type FullToken = Record<
  | 'logprob'
  | 'samplingLogprob'
  | 'referenceLogprob'
  | 'advantage'
  | 'entropy'
  | 'value'
  | 'valueTarget'
  | 'samplingValue',
  number
>;

const anyToken: fc.Arbitrary<FullToken> = fc
  .record({
    logprob: between(-6, -0.01),
    shift: between(-2, 2),
    referenceLogprob: between(-6, -0.01),
    advantage: between(-3, 3),
    entropy: between(0, 4),
    value: between(-2, 2),
    valueTarget: between(-2, 2),
    samplingValue: between(-2, 2),
  })
  .map(({ shift, ...token }) => ({ ...token, samplingLogprob: token.logprob - shift }));

/** What every loss has, at any setting. */
const common = {
  entropy_coefficient: between(0, 0.5),
  kl_coefficient: fc.oneof(fc.constant(0), between(0, 1)),
  kl_estimator: fc.constantFrom(1, 2, 3),
  value_coefficient: fc.oneof(fc.constant(0), between(0, 1)),
  value_clip: fc.oneof(fc.constant(0), between(0.01, 2)),
};

const clips = { clip_low: between(0.001, 0.9), clip_high: between(0.001, 3) };

const losses: readonly (readonly [string, fc.Arbitrary<Record<string, number>>])[] = [
  ['cross_entropy', fc.record(common)],
  ['importance_sampling', fc.record(common)],
  ['ppo', fc.record({ ...common, ...clips, dual_clip: fc.oneof(fc.constant(0), between(1.01, 6)) })],
  ['cispo', fc.record({ ...common, ...clips })],
  ['gspo', fc.record({ ...common, ...clips })],
  ['dro', fc.record({ ...common, beta: between(0, 1) })],
];

/** The weighted sum over a row of tokens, and its gradient by every log-probability, entropy and value. */
function evaluate(loss: ResolvedLoss, tokens: readonly FullToken[], weights: readonly number[]) {
  const column = (of: (token: FullToken) => number): np.Array => np.array(Float32Array.from(tokens, of));
  const scalars = (): Record<string, np.Array> =>
    Object.fromEntries(
      Object.entries(loss.parameters).map(([name, value]) => [name, np.array(value, { dtype: np.float32 })]),
    );
  const sum = (found: Pick<Required<LossInput>, 'logprobs' | 'entropies' | 'values'>): np.Array =>
    lossSum(
      loss.name,
      {
        ...found,
        samplingLogprobs: column(({ samplingLogprob }) => samplingLogprob),
        referenceLogprobs: column(({ referenceLogprob }) => referenceLogprob),
        advantages: column(({ advantage }) => advantage),
        weights: np.array(Float32Array.from(weights)),
        isTrained: np.array(tokens.map(() => true)),
        valueTargets: column(({ valueTarget }) => valueTarget),
        samplingValues: column(({ samplingValue }) => samplingValue),
      },
      scalars(),
    );
  const found = () => ({
    logprobs: column(({ logprob }) => logprob),
    entropies: column(({ entropy }) => entropy),
    values: column(({ value }) => value),
  });
  const gradients = grad(sum)(found());
  return {
    loss: sum(found()).item(),
    logprobs: gradients.logprobs.dataSync(),
    entropies: gradients.entropies.dataSync(),
    values: gradients.values.dataSync(),
  };
}

/** float32 all the way, with an exponential of the single precision of the processor's vector unit. */
function expectNear(actual: number | undefined, expected: number): void {
  expect(Math.abs((actual ?? Number.NaN) - expected)).toBeLessThan(2e-4 * Math.max(1, Math.abs(expected)));
}

/** At a kink either slope is right, and rounding decides. */
function isAtKink(loss: ResolvedLoss, token: ScoredToken): boolean {
  const nearby = [-1e-4, 1e-4].map((by) => {
    const shifted = { ...token, logprob: token.logprob + by, value: (token.value ?? 0) + by };
    const meanLogRatio = (token.meanLogRatio ?? 0) + by;
    return referenceTokenLoss(loss, { ...shifted, meanLogRatio });
  });
  const [below, above] = nearby;
  if (below === undefined || above === undefined) return true;
  return (
    Math.abs(below.logprobSlope - above.logprobSlope) > 0.01 || Math.abs(below.valueSlope - above.valueSlope) > 0.001
  );
}

test.each(losses)('%s has the values and gradients of the contract, with any parameters', (name, anyParameters) => {
  const anyRow = fc.array(fc.tuple(anyToken, between(0.1, 1)), { minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(anyParameters, anyRow, (parameters, row) => {
      const loss = resolveLoss({ name, parameters });
      const tokens = row.map(([token]) => token);
      const weights = row.map(([, weight]) => weight);
      const meanLogRatio =
        tokens.reduce((sum, { logprob, samplingLogprob }) => sum + logprob - samplingLogprob, 0) / tokens.length;
      const scored = tokens.map((token) => (name === 'gspo' ? { ...token, meanLogRatio } : token));
      fc.pre(!scored.some((token) => isAtKink(loss, token)));
      const actual = evaluate(loss, tokens, weights);
      const expected = scored.map((token) => referenceTokenLoss(loss, token));
      expectNear(
        actual.loss,
        expected.reduce((sum, { value }, at) => sum + value * (weights[at] ?? 0), 0),
      );
      for (const [at, { logprobSlope, entropySlope, valueSlope }] of expected.entries()) {
        const weight = weights[at] ?? 0;
        expectNear(actual.logprobs[at], weight * logprobSlope);
        expectNear(actual.entropies[at], weight * entropySlope);
        expectNear(actual.values[at], weight * valueSlope);
      }
    }),
    { numRuns: 25 },
  );
});
