import type { Algorithm } from '@agentlightning/core';
import type { CreditAssignment, StepContext, StepPlan } from '@agentlightning/core/algorithm';
import { describeAlgorithmContract } from '@agentlightning/core/contracts';
import { aCollectedGroup, aCollectedRollout } from '@agentlightning/core/testing';
import type { TrainingDatum } from '@agentlightning/core/training-runtime';
import { describe, expect, test } from 'vitest';
import { terminalCredit } from '../credit-assignment/credit-assignment-options.ts';
import { perTurnCredit } from '../credit-assignment/per-turn-credit.ts';
import { grpo, ppo, rloo } from '../recipes/policy-gradient-recipes.ts';

const corrected = (): Algorithm => grpo({ samplerCorrection: { type: 'truncate' }, advantage: { type: 'dr-grpo' } });
const penalised = (): Algorithm => rloo({ klCoefficient: 0.5, groupSize: 2 });

describeAlgorithmContract({ name: 'grpo with a sampler correction', create: corrected });
describeAlgorithmContract({ name: 'rloo with a KL term in the reward', create: penalised });

const context: StepContext = { step: 1, totalSteps: 10, policyVersion: 2, seed: 1 };
const groups = [aCollectedGroup([1, 0])];
const dataOf = (plan: StepPlan): readonly TrainingDatum[] =>
  plan.updates.flatMap(({ batches }) => batches.flatMap(({ data }) => data));

/** The plan when every sampled token is more likely than its sampler thought, by this much in nats. */
function planShifted(algorithm: Algorithm, shiftOf: (datum: number) => number): StepPlan {
  const request = algorithm.scoring?.(groups, context);
  if (request === null || request === undefined) throw new Error('the algorithm asks for scores');
  const scores = request.data.map(({ samplingLogprobs }, index) => samplingLogprobs.map((own) => own + shiftOf(index)));
  return algorithm.planStep(groups, {
    ...context,
    scores: Object.fromEntries(request.policies.map((policy) => [policy, scores])),
  });
}

describe('a sampler correction', () => {
  test('asks for the weights in training only', () => {
    const request = corrected().scoring?.(groups, context);
    expect(request?.policies).toEqual(['current']);
    expect(request?.data.map(({ rolloutId }) => rolloutId)).toEqual(['ro-gr-1-1', 'ro-gr-1-2']);
    expect(corrected().scoring?.([], context)).toBeNull();
  });

  test('weighs tokens by the truncated ratio, and takes the ratio of the loss to the weights in training', () => {
    const plain = dataOf(grpo({ advantage: { type: 'dr-grpo' } }).planStep(groups, context));
    const data = dataOf(planShifted(corrected(), (index) => (index === 0 ? Math.log(1.5) : Math.log(4))));
    for (const [index, factor] of [1.5, 2].entries()) {
      const [one, other] = [data[index], plain[index]];
      expect(one?.weights[0]).toBeCloseTo((other?.weights[0] ?? 0) * factor, 6);
      const shift = (one?.samplingLogprobs[0] ?? 0) - (other?.samplingLogprobs[0] ?? 0);
      expect(shift).toBeCloseTo(index === 0 ? Math.log(1.5) : Math.log(4), 5);
      expect(one?.advantages).toEqual(other?.advantages);
    }
  });

  test('judges a row by its trained turns only', () => {
    // One row of two turns with two tokens each; the first turn is two versions old.
    const calls = [
      { promptTokenIds: [1], responseTokenIds: [10, 11], policyVersion: 0 },
      { promptTokenIds: [1, 10, 11, 2], responseTokenIds: [12, 13], policyVersion: 2 },
    ];
    const rollouts = [1, 0].map((reward, index) => aCollectedRollout({ rolloutId: `ro-${index}`, reward, calls }));
    const twoTurns = [{ groupId: 'gr-1', rollouts }];
    const weights = (shifts: readonly number[]): readonly number[] => {
      const options = { maxStaleness: 1, advantage: { type: 'dr-grpo' } } as const;
      const algorithm = grpo({ ...options, samplerCorrection: { type: 'truncate', level: 'sequence', max: 100 } });
      const request = algorithm.scoring?.(twoTurns, context);
      const current = request?.data.map(({ samplingLogprobs }) =>
        samplingLogprobs.map((own, token) => own + (shifts[token] ?? 0)),
      );
      const plan = algorithm.planStep(twoTurns, { ...context, scores: { current: current ?? [] } });
      expect(plan.metrics['sampler/logprob_gap']).toBeCloseTo(Math.log(2), 5);
      expect(plan.metrics['sampler/current_logprob_gap']).toBeCloseTo(Math.log(2), 5);
      return dataOf(plan).flatMap((datum) => [...datum.weights]);
    };
    const [fresh, stale] = [Math.log(2), Math.log(3)];
    const [first] = weights([0, 0, fresh, fresh]);
    for (const weight of weights([stale, stale, fresh, fresh])) expect(weight).toBeCloseTo(first ?? 0, 6);
  });

  test('says how far the sampler was for the tokens of the weights in training, apart from older ones', () => {
    const calls = [
      { promptTokenIds: [1], responseTokenIds: [10], policyVersion: 1 },
      { promptTokenIds: [1, 10, 2], responseTokenIds: [11, 12], policyVersion: 2 },
    ];
    const rollouts = [1, 0].map((reward, index) => aCollectedRollout({ rolloutId: `ro-${index}`, reward, calls }));
    const twoVersions = [{ groupId: 'gr-1', rollouts }];
    const shifts = [Math.log(8), Math.log(2), Math.log(2)];
    const current = corrected()
      .scoring?.(twoVersions, context)
      ?.data.map(({ samplingLogprobs }) => samplingLogprobs.map((own, token) => own + (shifts[token] ?? 0)));
    const { metrics } = corrected().planStep(twoVersions, { ...context, scores: { current: current ?? [] } });
    expect(metrics['sampler/logprob_gap']).toBeCloseTo((Math.log(8) + 2 * Math.log(2)) / 3, 5);
    expect(metrics['sampler/current_logprob_gap']).toBeCloseTo(Math.log(2), 5);
  });

  test('says how far the sampler was', () => {
    const { metrics } = planShifted(corrected(), (index) => (index === 0 ? 0 : Math.log(4)));
    const k3 = (4 - 1 - Math.log(4)) / 2;
    expect(metrics['sampler/logprob_gap']).toBeCloseTo(Math.log(4) / 2, 5);
    expect(metrics['sampler/kl_k1']).toBeCloseTo(-Math.log(4) / 2, 5);
    expect(metrics['sampler/kl_k3']).toBeCloseTo(k3, 5);
    expect(metrics['sampler/bounded_fraction']).toBe(0.5);
    // Factors 1, 1, 2 and 2: 1 / mean((w / 1.5)²).
    expect(metrics['sampler/effective_sample_fraction']).toBeCloseTo(0.9, 6);
  });
});

describe('a KL term in the reward', () => {
  test('asks for the reference policy, and takes the divergence of the rollout from its reward', () => {
    expect(penalised().scoring?.(groups, context)?.policies).toEqual(['reference']);
    // Two tokens of the first rollout, each 0.3 nats likelier than the reference has them: R = 1 - 0.5 · 0.6.
    const data = dataOf(planShifted(penalised(), (index) => (index === 0 ? -0.3 : 0)));
    expect(data[0]?.advantages[0]).toBeCloseTo(0.7, 5);
    expect(data[1]?.advantages[0]).toBeCloseTo(-0.7, 5);
    expect(data[0]?.referenceLogprobs).toBeUndefined();
  });

  test.for([
    // β · Σ over two tokens with d = 0.3 each.
    ['k1', 0.5 * 2 * 0.3],
    ['k2', 0.5 * 2 * 0.045],
    ['k3', 0.5 * 2 * (0.740_818_220_681_717_8 + 0.3 - 1)],
  ] as const)('is estimated by %s where that is asked for', ([klEstimator, penalty]) => {
    const algorithm = rloo({ klCoefficient: 0.5, groupSize: 2, klEstimator });
    const data = dataOf(planShifted(algorithm, (index) => (index === 0 ? -0.3 : 0)));
    expect(data[0]?.advantages[0]).toBeCloseTo(1 - penalty, 5);
  });

  test('leaves the reward in the metrics as it was', () => {
    expect(planShifted(penalised(), () => -1).metrics['reward/mean']).toBe(0.5);
  });

  test.each([
    ['by name', { type: 'per-turn' }],
    ['as an object', perTurnCredit()],
  ] as const)('needs credit that is not of single turns, %s', (_, creditAssignment) => {
    expect(() => rloo({ klCoefficient: 0.1, creditAssignment })).toThrow(
      expect.objectContaining({
        code: 'CONFIG',
        message: expect.stringMatching(/klPlacement: in the reward it is a sum/),
      }),
    );
    expect(() => rloo({ creditAssignment })).not.toThrow();
  });

  test('is taken from what an assignment of one’s own makes of the reward', () => {
    const credit = terminalCredit();
    const doubled: CreditAssignment = {
      name: 'doubled',
      scope: 'rollout',
      assign: (trajectory) =>
        credit.assign(trajectory)?.map((row) => row.map((value) => (value === null ? null : 2 * value))) ?? null,
    };
    const algorithm = rloo({ klCoefficient: 0.5, groupSize: 2, creditAssignment: doubled });
    // 2 · 1 - 0.5 · 2 · 0.3, against 0.
    const data = dataOf(planShifted(algorithm, (index) => (index === 0 ? -0.3 : 0)));
    expect(data[0]?.advantages[0]).toBeCloseTo(1.7, 5);
  });
});

test('scores that were not asked for, or are of other rows, are an error that says so', () => {
  expect(() => corrected().planStep(groups, context)).toThrow(
    expect.objectContaining({ code: 'CONFIG', message: expect.stringMatching(/grpo needs .* current policy/) }),
  );
  const scores = { current: [new Float32Array(2)] };
  expect(() => corrected().planStep(groups, { ...context, scores })).toThrow(/there are 1 arrays for 2 rows/);
  const short = { current: [new Float32Array(2), new Float32Array(1)] };
  expect(() => corrected().planStep(groups, { ...context, scores: short })).toThrow(/1 entries for 2 trained tokens/);
});

test('turns of a policy that is too old are left out, and still count in the baseline', () => {
  const rollouts = [1, 0].map((reward, index) =>
    aCollectedRollout({ rolloutId: `ro-${index}`, reward, calls: [{ policyVersion: index * 2 }] }),
  );
  const plan = grpo({ maxStaleness: 1, advantage: { type: 'dr-grpo' } }).planStep(
    [{ groupId: 'gr-1', rollouts }],
    context,
  );
  expect(dataOf(plan).map(({ rolloutId, advantages }) => [rolloutId, advantages[0]])).toEqual([['ro-1', -0.5]]);
  expect(plan.metrics['staleness/turns_left_out']).toBe(1);
});

test('an overlong rollout loses reward, more the longer it is, and all of it from the limit on', () => {
  const lengths = [6, 8, 9, 12];
  const rollouts = lengths.map((length, index) =>
    aCollectedRollout({
      rolloutId: `ro-${index}`,
      reward: 1,
      calls: [{ responseTokenIds: Array.from({ length }, () => 10) }],
    }),
  );
  const overlongPenalty = { maxTokens: 10, bufferTokens: 4, coefficient: 2 };
  const plan = grpo({ overlongPenalty, advantage: { type: 'dr-grpo' } }).planStep(
    [{ groupId: 'gr-1', rollouts }],
    context,
  );
  // Penalties of 0, 1, 1.5 and 2, whose mean is 1.125.
  const advantages = Object.fromEntries(dataOf(plan).map((datum) => [datum.rolloutId, datum.advantages[0]]));
  expect(advantages).toEqual({ 'ro-0': 1.125, 'ro-1': 0.125, 'ro-2': -0.375, 'ro-3': -0.875 });
  expect(plan.metrics['reward/mean']).toBe(1);
});

test.each([grpo, ppo])('an overlong penalty is refused where turns learn from their own rewards', (recipe) => {
  const overlongPenalty = { maxTokens: 10, bufferTokens: 4 };
  expect(() => recipe({ overlongPenalty, creditAssignment: { type: 'per-turn' } })).toThrow(
    /overlongPenalty: is for a rollout as a whole; take a creditAssignment of rollouts or agents/,
  );
});

test('an overlong penalty is refused with an assignment of one’s own that is of single turns', () => {
  const overlongPenalty = { maxTokens: 10, bufferTokens: 4 };
  expect(() => grpo({ overlongPenalty, creditAssignment: perTurnCredit() })).toThrow(
    /overlongPenalty: is for a rollout/,
  );
});

test('of a rollout with many turns at most so many are trained, drawn by the seed', () => {
  const calls = [[10], [11], [12], [13]].map((responseTokenIds) => ({ promptTokenIds: [1], responseTokenIds }));
  const rollouts = [1, 0].map((reward, index) => aCollectedRollout({ rolloutId: `ro-${index}`, reward, calls }));
  const plan = (seed: number): StepPlan =>
    grpo({ maxTurns: 3, advantage: { type: 'dr-grpo' } }).planStep([{ groupId: 'gr-1', rollouts }], {
      ...context,
      seed,
    });
  const sampled = (seed: number): readonly number[] => dataOf(plan(seed)).map(({ tokenIds }) => tokenIds[1] ?? 0);
  expect(sampled(1)).toHaveLength(6);
  expect(sampled(1)).toEqual(sampled(1));
  expect(new Set(Array.from({ length: 20 }, (_, seed) => sampled(seed).join())).size).toBeGreaterThan(5);
  expect(plan(1).metrics['turns/left_out']).toBe(2);
  for (const { weights } of dataOf(plan(1))) expect(weights[0]).toBeCloseTo(1 / 6, 7);
});
