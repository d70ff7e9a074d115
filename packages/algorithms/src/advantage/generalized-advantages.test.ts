import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { generalizedAdvantages, type LookAhead, nothingAhead } from './generalized-advantages.ts';

/** Rewards and values of some tokens, as many of each. */
const anyTokens = fc
  .array(fc.tuple(fc.integer({ min: -20, max: 20 }), fc.integer({ min: -20, max: 20 })), {
    minLength: 1,
    maxLength: 12,
  })
  .map((pairs) => ({ rewards: pairs.map(([reward]) => reward / 8), values: pairs.map(([, value]) => value / 8) }));
const anyShare = fc.integer({ min: 0, max: 20 }).map((part) => part / 20);
const anyLook: fc.Arbitrary<LookAhead> = fc.record({ discount: anyShare, lambda: anyShare });
const anyAhead = fc.record({
  value: fc.integer({ min: -20, max: 20 }).map((part) => part / 8),
  advantage: fc.constant(0),
});

function expectNear(actual: ArrayLike<number>, expected: readonly number[]): void {
  expect(actual).toHaveLength(expected.length);
  for (const [token, value] of expected.entries())
    expect(Math.abs((actual[token] ?? Number.NaN) - value)).toBeLessThan(1e-9 * Math.max(1, Math.abs(value)));
}

/** `V(s_0), V(s_1), …` with the value after the last token. */
const states = (values: readonly number[], ahead: number): readonly number[] => [...values, ahead];

test('an episode worked out by hand', () => {
  // γ = 0.9, λ = 0.5: δ = 0 + 0.9·2 - 1 = 0.8, 0 + 0.9·1.5 - 2 = -0.65, 4 - 1.5 = 2.5.
  const tokens = { rewards: [0, 0, 4], values: [1, 2, 1.5] };
  const advantages = generalizedAdvantages(tokens, nothingAhead, { discount: 0.9, lambda: 0.5 });
  expectNear(advantages, [0.8 + 0.45 * (-0.65 + 0.45 * 2.5), -0.65 + 0.45 * 2.5, 2.5]);
});

describe('agrees with other ways of reckoning', () => {
  test('the sum over errors of equation 16, term by term', () => {
    fc.assert(
      fc.property(anyTokens, anyAhead, anyLook, ({ rewards, values }, ahead, look) => {
        const all = states(values, ahead.value);
        const error = (at: number): number => (rewards[at] ?? 0) + look.discount * (all[at + 1] ?? 0) - (all[at] ?? 0);
        const expected = values.map((_, token) =>
          values
            .slice(token)
            .reduce((sum, __, later) => sum + (look.discount * look.lambda) ** later * error(token + later), 0),
        );
        expectNear(generalizedAdvantages({ rewards, values }, ahead, look), expected);
      }),
    );
  });

  test('the mean of n-step advantages with weights (1 - λ)λ^(n-1), the rest on the longest: equation 16 as derived', () => {
    fc.assert(
      fc.property(anyTokens, anyAhead, anyLook, ({ rewards, values }, ahead, { discount, lambda }) => {
        const all = states(values, ahead.value);
        const expected = values.map((value, token) => {
          const longest = values.length - token;
          let total = 0;
          for (let n = 1; n <= longest; n += 1) {
            let stepped = discount ** n * (all[token + n] ?? 0) - value;
            for (let k = 0; k < n; k += 1) stepped += discount ** k * (rewards[token + k] ?? 0);
            total += (n === longest ? lambda ** (n - 1) : (1 - lambda) * lambda ** (n - 1)) * stepped;
          }
          return total;
        });
        expectNear(generalizedAdvantages({ rewards, values }, ahead, { discount, lambda }), expected);
      }),
    );
  });

  test('with λ = 1 the discounted return-to-go less the value', () => {
    fc.assert(
      fc.property(anyTokens, anyAhead, anyShare, ({ rewards, values }, ahead, discount) => {
        const expected = values.map((value, token) => {
          const later = rewards.slice(token).reduce((sum, reward, after) => sum + discount ** after * reward, 0);
          return later + discount ** (values.length - token) * ahead.value - value;
        });
        expectNear(generalizedAdvantages({ rewards, values }, ahead, { discount, lambda: 1 }), expected);
      }),
    );
  });

  test('with λ = 0 the error of the value from one token to the next', () => {
    fc.assert(
      fc.property(anyTokens, anyAhead, anyShare, ({ rewards, values }, ahead, discount) => {
        const all = states(values, ahead.value);
        const expected = values.map((value, token) => (rewards[token] ?? 0) + discount * (all[token + 1] ?? 0) - value);
        expectNear(generalizedAdvantages({ rewards, values }, ahead, { discount, lambda: 0 }), expected);
      }),
    );
  });
});

describe('properties', () => {
  test('values that are right leave nothing to learn, whatever λ is', () => {
    fc.assert(
      fc.property(anyTokens, anyLook, ({ rewards }, look) => {
        const values = rewards.map((_, token) =>
          rewards.slice(token).reduce((sum, reward, after) => sum + look.discount ** after * reward, 0),
        );
        expectNear(
          generalizedAdvantages({ rewards, values }, nothingAhead, look),
          values.map(() => 0),
        );
      }),
    );
  });

  test('an episode in two parts is the episode: the second part is what lies ahead of the first', () => {
    fc.assert(
      fc.property(fc.tuple(anyTokens, anyTokens), anyAhead, anyLook, ([first, second], ahead, look) => {
        const whole = generalizedAdvantages(
          { rewards: [...first.rewards, ...second.rewards], values: [...first.values, ...second.values] },
          ahead,
          look,
        );
        const later = generalizedAdvantages(second, ahead, look);
        const between = { value: second.values[0] ?? 0, advantage: later[0] ?? 0 };
        expectNear([...generalizedAdvantages(first, between, look), ...later], [...whole]);
      }),
    );
  });

  test('twice the rewards and values are twice the advantages', () => {
    fc.assert(
      fc.property(anyTokens, anyLook, ({ rewards, values }, look) => {
        const doubled = { rewards: rewards.map((each) => 2 * each), values: values.map((each) => 2 * each) };
        const single = generalizedAdvantages({ rewards, values }, nothingAhead, look);
        expectNear(
          generalizedAdvantages(doubled, nothingAhead, look),
          [...single].map((each) => 2 * each),
        );
      }),
    );
  });
});
