import fc from 'fast-check';
import { expect, test } from 'vitest';
import { chooseToken } from './token-choice.ts';

const logits = Float32Array.from([0.5, 0.3, 0.15, 0.05], Math.log);
const rule = { temperature: 1, topP: 1, topLogprobs: 0 };

test('the uniform number picks the token whose share of the probability it falls into', () => {
  const tokens = [0, 0.49, 0.51, 0.79, 0.81, 0.96, 0.999999].map((uniform) => chooseToken(logits, rule, uniform).token);
  expect(tokens).toEqual([0, 0, 1, 1, 2, 3, 3]);
});

test('the log-probability is that of the distribution at the temperature', () => {
  const { logprob } = chooseToken(logits, { ...rule, temperature: 2 }, 0);
  const total = [0.5, 0.3, 0.15, 0.05].reduce((sum, p) => sum + Math.sqrt(p), 0);
  expect(logprob).toBeCloseTo(Math.log(Math.sqrt(0.5) / total), 6);
});

test('top_p draws from the nucleus only and renormalises it', () => {
  const nucleus = { ...rule, topP: 0.7, topLogprobs: 4 };
  const choice = chooseToken(logits, nucleus, 0.9999);
  expect(choice.token).toBe(1);
  expect(choice.logprob).toBeCloseTo(Math.log(0.3 / 0.8), 6);
  expect(choice.top.map(({ token }) => token)).toEqual([0, 1]);
});

test('temperature 0 takes the likeliest token and reports its log-probability at 1', () => {
  const choice = chooseToken(logits, { ...rule, temperature: 0, topP: 0.1 }, 0.99);
  expect(choice.token).toBe(0);
  expect(choice.logprob).toBeCloseTo(Math.log(0.5), 6);
});

test('probabilities sum to one and the choice is possible, for any logits', () => {
  const any = fc.float32Array({ min: -80, max: 80, noNaN: true, minLength: 2, maxLength: 12 });
  fc.assert(
    fc.property(any, fc.double({ min: 0, max: 0.999999, noNaN: true }), (values, uniform) => {
      const choice = chooseToken(values, { ...rule, topLogprobs: values.length }, uniform);
      const total = choice.top.reduce((sum, { logprob }) => sum + Math.exp(logprob), 0);
      expect(total).toBeCloseTo(1, 6);
      expect(Number.isFinite(choice.logprob)).toBe(true);
    }),
  );
});
