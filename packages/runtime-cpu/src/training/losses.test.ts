import type { LossName } from '@agentlightning/runtime/internal/losses';
import { grad, init, numpy as np } from '@jax-js/jax';
import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import { resolveLoss } from './loss-spec.ts';
import { lossSum } from './losses.ts';

interface Tokens {
  readonly logprobs: number[];
  readonly sampling?: number[];
  readonly reference?: number[];
  readonly entropies?: number[];
  readonly advantages?: number[];
  readonly weights?: number[];
  readonly isTrained?: boolean[];
}

beforeAll(async () => {
  await init('wasm');
});

/** The loss of every token on its own, and the gradient of the sum by every log-probability. */
function evaluate(name: LossName, tokens: Tokens, parameters: Record<string, number> = {}) {
  const count = tokens.logprobs.length;
  const column = (values: number[] | undefined, fallback: number): np.Array =>
    np.array(Float32Array.from(values ?? Array<number>(count).fill(fallback)));
  const trained = tokens.isTrained ?? Array<boolean>(count).fill(true);
  const sum = (logprobs: np.Array, isTrained: boolean[]): np.Array =>
    lossSum(
      name,
      {
        logprobs,
        entropies: column(tokens.entropies, 0),
        samplingLogprobs: column(tokens.sampling ?? tokens.logprobs, 0),
        referenceLogprobs: column(tokens.reference ?? tokens.logprobs, 0),
        advantages: column(tokens.advantages, 1),
        weights: column(tokens.weights, 1),
        isTrained: np.array(isTrained),
      },
      Object.fromEntries(
        Object.entries(resolveLoss({ name, parameters }).parameters).map(([key, value]) => [
          key,
          np.array(value, { dtype: np.float32 }),
        ]),
      ),
    );
  const only = (index: number): boolean[] => trained.map((value, at) => value && at === index);
  const losses = trained.map((_, index) => sum(column(tokens.logprobs, 0), only(index)).item());
  const gradients = grad((logprobs: np.Array) => sum(logprobs, trained))(column(tokens.logprobs, 0));
  return { losses, gradients: [...gradients.dataSync()] };
}

function close(actual: readonly number[], expected: readonly number[], digits = 4): void {
  expect(actual).toHaveLength(expected.length);
  for (const [index, value] of expected.entries()) expect(actual[index]).toBeCloseTo(value, digits);
}

/** The hand example of the contract: ratios 0.5, 1 and 10. */
const hand = {
  sampling: [-1, -1, -3],
  logprobs: [-1 - Math.LN2, -1, -3 + Math.LN10],
  advantages: [1, -1, -4],
};

test('cross entropy is the negative log-probability', () => {
  const { losses, gradients } = evaluate('cross_entropy', hand);
  close(losses, [1.693147, 1, 0.697415]);
  close(gradients, [-1, -1, -1]);
});

test('importance sampling is minus ratio times advantage, and so is its gradient', () => {
  const { losses, gradients } = evaluate('importance_sampling', hand);
  close(losses, [-0.5, 1, 40]);
  close(gradients, [-0.5, 1, 40]);
});

test('PPO takes the worse of the plain and the clipped objective', () => {
  const { losses, gradients } = evaluate('ppo', hand, { dual_clip: 0 });
  close(losses, [-0.5, 1, 40]);
  close(gradients, [-0.5, 1, 40]);
});

test('the dual clip bounds the loss of a negative advantage and stops its gradient', () => {
  const { losses, gradients } = evaluate('ppo', hand, { dual_clip: 3 });
  close(losses, [-0.5, 1, 12]);
  close(gradients, [-0.5, 1, 0]);
});

test('a higher upper clip lets a rare good token grow further', () => {
  const token = { sampling: [-2], logprobs: [-2 + Math.log(1.25)], advantages: [1] };
  close(evaluate('ppo', token, { clip_high: 0.2 }).losses, [-1.2]);
  close(evaluate('ppo', token, { clip_high: 0.28 }).losses, [-1.25]);
});

test('CISPO weighs the log-probability with the clipped ratio, which has no gradient', () => {
  const { losses, gradients } = evaluate('cispo', hand, { clip_low: 0.2, clip_high: 0.2 });
  close(losses, [1.354517, -1, -3.347568]);
  close(gradients, [-0.8, 1, 4.8]);
});

test('GSPO gives every token of a row the row’s ratio, and each gradient goes by its own log-probability', () => {
  // Log-ratios -ln 2, 0 and ln 10: their mean is ln(5)/3.
  const ratio = 5 ** (1 / 3);
  const wide = evaluate('gspo', hand, { clip_low: 1, clip_high: 9 });
  close(wide.losses.slice(0, 1), [-0.5]); // alone, a token is the row
  close(wide.gradients, [-ratio, ratio, 4 * ratio]);
  const narrow = evaluate('gspo', hand, { clip_low: 0.2, clip_high: 0.2 });
  close(narrow.gradients, [0, ratio, 4 * ratio]);
});

test('GSPO on one token is PPO without a dual clip', () => {
  const single = { sampling: [-2], logprobs: [-1.5], advantages: [-1.5] };
  const clip = { clip_low: 0.2, clip_high: 0.3 };
  expect(evaluate('gspo', single, clip)).toEqual(evaluate('ppo', single, { ...clip, dual_clip: 0 }));
});

test('DRO pulls towards the sampler by a square', () => {
  const { losses, gradients } = evaluate('dro', hand, { beta: 0.5 });
  const away = [-Math.LN2, 0, Math.LN10];
  close(losses, [1.693147 + 0.25 * Math.LN2 ** 2, -1, -4 * 0.697415 + 0.25 * Math.LN10 ** 2]);
  close(
    gradients,
    away.map((difference, token) => 0.5 * difference - (hand.advantages[token] ?? 0)),
  );
});

test.each([
  [1, 0.5, 1],
  [2, 0.125, 0.5],
  [3, Math.exp(-0.5) - 0.5, 1 - Math.exp(-0.5)],
])('KL estimator k%i has its value and its gradient', (estimator, value, gradient) => {
  const parameters = { kl_coefficient: 2, kl_estimator: estimator };
  const tokens = { logprobs: [-1], sampling: [-1], reference: [-1.5], advantages: [0] };
  const result = evaluate('importance_sampling', tokens, parameters);
  close(result.losses, [2 * value]);
  close(result.gradients, [2 * gradient]);
});

test('the entropy bonus lowers the loss by coefficient times entropy times weight', () => {
  const tokens = { logprobs: [-1], entropies: [1.5], advantages: [0], weights: [0.5] };
  close(evaluate('importance_sampling', tokens, { entropy_coefficient: 0.1 }).losses, [-0.075]);
});

const number = (min: number, max: number) => fc.float({ min: Math.fround(min), max: Math.fround(max), noNaN: true });
const token = fc.record({ logprob: number(-6, -0.01), advantage: number(-3, 3), shift: number(-1, 1) });
const policyLosses = ['importance_sampling', 'ppo', 'cispo', 'gspo', 'dro'] as const;

test('on policy, every policy loss has the gradient −A', () => {
  fc.assert(
    fc.property(fc.array(token, { minLength: 1, maxLength: 5 }), (tokens) => {
      const advantages = tokens.map(({ advantage }) => advantage);
      const logprobs = tokens.map(({ logprob }) => logprob);
      for (const name of policyLosses) {
        const { gradients } = evaluate(name, { logprobs, advantages });
        close(
          gradients,
          advantages.map((advantage) => -advantage),
          3,
        );
      }
    }),
    { numRuns: 15 },
  );
});

test('PPO is importance sampling where no clip is active, and the dual clip only ever lowers it', () => {
  fc.assert(
    fc.property(token, ({ logprob, advantage, shift }) => {
      const tokens = { logprobs: [logprob], sampling: [logprob - shift], advantages: [advantage] };
      const wide = { clip_low: 0.99, clip_high: 9, dual_clip: 0 };
      close(evaluate('ppo', tokens, wide).losses, evaluate('importance_sampling', tokens).losses, 3);
      const [dual = 0] = evaluate('ppo', tokens, { dual_clip: 1.5 }).losses;
      const [plain = 0] = evaluate('ppo', tokens, { dual_clip: 0 }).losses;
      expect(dual).toBeLessThanOrEqual(plain);
    }),
    { numRuns: 20 },
  );
});

test('beyond the upper clip PPO has no gradient for a good token, and CISPO has', () => {
  const tokens = { logprobs: [-1], sampling: [-2], advantages: [1] };
  close(evaluate('ppo', tokens).gradients, [0]);
  close(evaluate('cispo', tokens, { clip_high: 0.2 }).gradients, [-1.2]);
});

test.each(['cross_entropy', ...policyLosses] as const)('%s gives a masked token a gradient of exactly zero', (name) => {
  const bad = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  const tokens = {
    logprobs: [-1, ...bad],
    sampling: [-1, ...bad],
    reference: [-1, ...bad],
    entropies: [1, ...bad],
    advantages: [1, ...bad],
    weights: [1, ...bad],
    isTrained: [true, false, false, false],
  };
  const parameters = { entropy_coefficient: 0.1, kl_coefficient: 0.1 };
  const { losses, gradients } = evaluate(name, tokens, parameters);
  expect(gradients.slice(1).map(Math.abs)).toEqual([0, 0, 0]);
  expect(losses.slice(1)).toEqual([0, 0, 0]);
  expect(gradients[0]).toBeCloseTo(-1, 5);
});

test('a stray token far from its sampling log-probability does not overflow', () => {
  const { losses } = evaluate('importance_sampling', { logprobs: [-0.1], sampling: [-500] });
  expect(losses[0]).toBeCloseTo(-Math.exp(20), -4);
});
