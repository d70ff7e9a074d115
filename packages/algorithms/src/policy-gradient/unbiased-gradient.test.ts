import type { CollectedGroup } from '@agentlightning/core';
import { aCollectedRollout } from '@agentlightning/core/testing';
import { expect, test } from 'vitest';
import { grpo } from '../recipes/grpo.ts';
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
