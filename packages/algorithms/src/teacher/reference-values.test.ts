import type { Algorithm } from '@agentlightning/core';
import type { StepContext } from '@agentlightning/core/algorithm';
import { aCollectedRollout } from '@agentlightning/core/testing';
import { expect, test } from 'vitest';
import { distillation } from '../recipes/distillation.ts';

/*
 * Log-probabilities of two responses of three tokens, and what PyTorch 2 computes from them in float64, with autograd. The
 * loss is that of the sampled-token mode of TRL's SDPOTrainer (1.16), `mean(sg[lp - lt] · lp · min(exp(sg[lp - old]), 2))`, and with
 * rewards 1 and 0, `(1 - w) · mean(-min(exp(sg[lp - old]), 2) · A · lp) + w ·` that, with `A` 0.5 and -0.5.
 */
const policy = [
  [-1.864668017, -2.798429807, -2.861383282],
  [-1.707942691, -1.175428494, -0.848230803],
];
const teacher = [
  [-1.499114182, -2.752744631, -4.609155043],
  [-3.605163056, -0.917213518, -0.454379262],
];
const old = [
  [-2.948133958, -2.779189061, -3.631700377],
  [-1.908918894, -1.112920059, -1.078398408],
];
const torch = {
  alone: {
    loss: -1.96156245879924,
    gradient: [-0.121851278, -0.007469094, 0.582590587, 0.386588903, -0.040428079, -0.082630774],
  },
  mixed: {
    loss: -0.1254704177418657,
    gradient: [-0.15322205, -0.059462413, 0.05811051, 0.187294752, 0.042670209, 0.048641408],
  },
};

const run = { teacher: { run: 'run-1@best' }, groupSize: 2, advantage: { type: 'dr-grpo' } } as const;

test.each([
  ['alone', distillation(run), torch.alone],
  ['mixed with the reward', distillation({ ...run, weight: 0.3 }), torch.mixed],
] as const)('the loss and its gradient are those of PyTorch: %s', (_, algorithm, expected) => {
  const { loss, gradient } = lossOf(algorithm);
  expect(loss).toBeCloseTo(expected.loss, 6);
  for (const [token, slope] of expected.gradient.entries()) expect(gradient[token]).toBeCloseTo(slope, 6);
});

/** The loss of a plan at the log-probabilities of the policy, and its derivatives by them, by the contract of runtimes. */
function lossOf(algorithm: Algorithm): { readonly loss: number; readonly gradient: readonly number[] } {
  const rollouts = old.map((logprobs, index) => {
    const tokens = [10, 11, 12];
    const choices = [{ index: 0, responseTokenIds: tokens, responseLogprobs: logprobs, finishReason: 'stop' }];
    return aCollectedRollout({ rolloutId: `ro-${index}`, reward: 1 - index, calls: [{ choices }] });
  });
  const context: StepContext = { step: 1, totalSteps: 1, policyVersion: 0, seed: 1 };
  const scores = {
    current: policy.map((row) => Float32Array.from(row)),
    teacher: teacher.map((row) => Float32Array.from(row)),
  };
  const { updates } = algorithm.planStep([{ groupId: 'gr-1', rollouts }], { ...context, scores });
  expect(updates[0]?.loss).toMatchObject({ name: 'cispo', parameters: { clip_low: 1, clip_high: 1 } });
  const data = updates.flatMap(({ batches }) => batches.flatMap((batch) => batch.data));
  const gradient = data.flatMap(({ samplingLogprobs, advantages, weights }, row) =>
    Array.from(samplingLogprobs, (sampled, token) => {
      const ratio = Math.min(2, Math.exp((policy[row]?.[token] ?? 0) - sampled));
      return -(weights[token] ?? 0) * ratio * (advantages[token] ?? 0);
    }),
  );
  const logprobs = policy.flat();
  return { gradient, loss: gradient.reduce((sum, slope, token) => sum + slope * (logprobs[token] ?? 0), 0) };
}
