import type { CollectedGroup } from '@agentlightning/core/algorithm';
import { aCollectedRollout } from '@agentlightning/core/testing';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { grpo, ppo } from '../recipes/policy-gradient-recipes.ts';
import type { PolicyGradientOptions } from './policy-gradient-options.ts';

/**
 * A policy over three answers of different length: only the first token is a choice, the others follow. So the
 * gradient of the expected reward is known, and so is that of every group of rollouts there can be.
 */
const answers = [
  { tokens: [10], reward: 1, probability: 0.5 },
  { tokens: [11, 20, 20], reward: 0.25, probability: 0.3 },
  { tokens: [12, 20, 20, 20, 20, 20], reward: -0.5, probability: 0.2 },
] as const;
const groupSize = 3;

/** d log π(answer) / d logits of a softmax policy. */
const score = (answer: number): readonly number[] =>
  answers.map(({ probability }, index) => (index === answer ? 1 : 0) - probability);

/** d E[R] / d logits: p_k · (R_k - E[R]). */
const expectedReward = answers.reduce((sum, { reward, probability }) => sum + reward * probability, 0);
const trueGradient = answers.map(({ reward, probability }) => probability * (reward - expectedReward));

function groupOf(chosen: readonly number[]): CollectedGroup {
  const rollouts = chosen.map((answer, index) =>
    aCollectedRollout({
      rolloutId: `ro-${index}-${answer}`,
      reward: answers[answer]?.reward ?? 0,
      calls: [{ responseTokenIds: answers[answer]?.tokens ?? [] }],
    }),
  );
  return { groupId: 'gr-1', rollouts };
}

/** The mean, over all groups, of the gradient that the plan's advantages and weights make. */
function meanPlannedGradient(options: PolicyGradientOptions): readonly number[] {
  const algorithm = grpo({ groupSize, advantage: { type: 'dr-grpo' }, ...options });
  const total = answers.map(() => 0);
  for (let code = 0; code < answers.length ** groupSize; code += 1) {
    const chosen = Array.from({ length: groupSize }, (_, digit) => Math.floor(code / answers.length ** digit) % 3);
    const probability = chosen.reduce((product, answer) => product * (answers[answer]?.probability ?? 0), 1);
    const plan = algorithm.planStep([groupOf(chosen)], { step: 1, totalSteps: 1, policyVersion: 0, seed: 0 });
    for (const { rolloutId, advantages, weights } of plan.updates.flatMap(({ batches }) =>
      batches.flatMap(({ data }) => data),
    )) {
      const coefficient = probability * (advantages[0] ?? 0) * (weights[0] ?? 0);
      for (const [index, part] of score(Number(rolloutId.at(-1))).entries()) {
        total[index] = (total[index] ?? 0) + coefficient * part;
      }
    }
  }
  return total;
}

test('with token-sum the planned gradient is that of the expected reward, but for the factor (n - 1) / n', () => {
  const planned = meanPlannedGradient({ aggregation: 'token-sum' });
  for (const [index, part] of trueGradient.entries()) {
    expect(planned[index]).toBeCloseTo((part * (groupSize - 1)) / groupSize, 6);
  }
});

test('with rollout-mean it is not: long answers count less', () => {
  const planned = meanPlannedGradient({ aggregation: 'rollout-mean' });
  const factors = trueGradient.map((part, index) => (planned[index] ?? 0) / part);
  expect(Math.max(...factors) / Math.min(...factors)).toBeGreaterThan(1.5);
});

test('splitting into batches and minibatches of one epoch keeps it pointing the same way', () => {
  const whole = meanPlannedGradient({ aggregation: 'token-sum' });
  const split = meanPlannedGradient({ aggregation: 'token-sum', maxBatchTokens: 6 });
  for (const [index, part] of whole.entries()) expect(split[index]).toBeCloseTo(part, 9);
});

describe('against a value head', () => {
  /** The mean, over all answers, of the gradient that a step of one rollout makes, when the value head says this. */
  function meanValuedGradient(lambda: number, valueAt: (answer: number, place: number) => number): readonly number[] {
    const algorithm = ppo({ advantage: { type: 'gae', lambda, whiten: false }, aggregation: 'token-sum', epochs: 1 });
    const context = { step: 1, totalSteps: 1, policyVersion: 0, seed: 0 };
    const total = answers.map(() => 0);
    for (const [answer, { probability, tokens }] of answers.entries()) {
      const critic = [Float32Array.from(tokens, (_, place) => valueAt(answer, place))];
      const plan = algorithm.planStep([groupOf([answer])], { ...context, scores: { critic } });
      const [datum] = plan.updates.flatMap(({ batches }) => batches.flatMap(({ data }) => data));
      const coefficient = probability * (datum?.advantages[0] ?? 0) * (datum?.weights[0] ?? 0);
      for (const [index, part] of score(answer).entries()) total[index] = (total[index] ?? 0) + coefficient * part;
    }
    return total;
  }

  test('with λ = 1 the planned gradient is the true one, whatever the value head says', () => {
    const anyValues = fc.array(fc.integer({ min: -40, max: 40 }), { minLength: 7, maxLength: 7 });
    fc.assert(
      fc.property(anyValues, ([first = 0, ...later]) => {
        // Before the first token all answers look the same; after it they do not.
        const valueAt = (answer: number, place: number): number =>
          (place === 0 ? first : (later[answer + place] ?? 0)) / 8;
        for (const [index, part] of meanValuedGradient(1, valueAt).entries())
          expect(part).toBeCloseTo(trueGradient[index] ?? Number.NaN, 6);
      }),
    );
  });

  test('with less it is when the value head is right, and is not when it knows nothing', () => {
    const right = (answer: number, place: number): number =>
      place === 0 ? expectedReward : (answers[answer]?.reward ?? 0);
    const planned = meanValuedGradient(0.5, right);
    for (const [index, part] of trueGradient.entries()) expect(planned[index]).toBeCloseTo(part, 6);
    // An answer of one token gets its reward whole, one of six only 0.5⁵ of it.
    const blind = meanValuedGradient(0.5, () => 0);
    const gaps = trueGradient.map((part, index) => Math.abs((blind[index] ?? 0) - part));
    expect(Math.max(...gaps)).toBeGreaterThan(0.05);
  });
});
