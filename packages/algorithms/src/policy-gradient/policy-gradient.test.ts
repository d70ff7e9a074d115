import type { AdvantageEstimator, CollectedGroup, StepContext, StepPlan } from '@agentlightning/core/algorithm';
import { describeAlgorithmContract } from '@agentlightning/core/contracts';
import { aCollectedGroup, aCollectedRollout, type aTrajectory } from '@agentlightning/core/testing';
import type { TrainingDatum } from '@agentlightning/core/training-runtime';
import { describe, expect, test } from 'vitest';
import { grpo } from '../recipes/policy-gradient-recipes.ts';

describeAlgorithmContract({
  name: 'grpo with everything switched on',
  create: () =>
    grpo({
      loss: 'cispo',
      entropyCoefficient: 0.02,
      klCoefficient: 0.01,
      aggregation: 'rollout-mean',
      advantage: { type: 'dr-grpo' },
      creditAssignment: { type: 'per-turn', discount: 0.9 },
      epochs: 2,
      minibatches: 3,
      maxTokens: 100,
      learningRate: { schedule: 'cosine', peak: 1e-5, warmupSteps: 2 },
    }),
});

const context: StepContext = { step: 1, totalSteps: 10, policyVersion: 2, seed: 1 };
const dataOf = (plan: StepPlan): readonly TrainingDatum[] =>
  plan.updates.flatMap(({ batches }) => batches.flatMap(({ data }) => data));
const advantageOf = (plan: StepPlan, rolloutId: string): readonly (readonly number[])[] =>
  dataOf(plan)
    .filter((datum) => datum.rolloutId === rolloutId)
    .map(({ advantages }) => [...advantages]);

test('the plan of a small step, number by number', () => {
  const plan = grpo({ learningRate: 2e-3, optimizer: { beta2: 0.9 } }).planStep(
    [aCollectedGroup([1, 0, 0, 1])],
    context,
  );
  expect(plan.updates).toHaveLength(1);
  expect(plan.updates[0]).toMatchObject({
    loss: {
      name: 'ppo',
      parameters: { clip_low: 0.2, clip_high: 0.28, dual_clip: 3, kl_coefficient: 0 },
    },
    optimizer: { learningRate: 2e-3, beta2: 0.9 },
  });
  const expected = [1, -1, -1, 1].map((sign) => (sign * 0.5) / (Math.sqrt(1 / 3) + 1e-6));
  for (const [index, datum] of dataOf(plan).entries()) {
    expect([...datum.tokenIds]).toEqual([1, 2, 3, 10 + index, 20 + index]);
    expect([...datum.advantages]).toEqual([0, 0].map(() => Math.fround(expected[index] ?? 0)));
    expect([...datum.weights]).toEqual([0, 0].map(() => Math.fround(1 / 8)));
  }
});

describe('metrics', () => {
  test('tell what was used and what was not', () => {
    const partial = { isTrainable: false, untrainableReason: 'The stream broke off' };
    const mixed: CollectedGroup = {
      groupId: 'gr-2',
      rollouts: [
        aCollectedRollout({ rolloutId: 'a', reward: 1, calls: [{ policyVersion: 1 }, partial] }),
        aCollectedRollout({ rolloutId: 'b', reward: 0, calls: [{}, { promptTokenIds: [8] }] }),
        aCollectedRollout({ rolloutId: 'c', reward: null }),
        aCollectedRollout({ rolloutId: 'd', status: 'failed' }),
        aCollectedRollout({ rolloutId: 'e', reward: 0.5, calls: [] }),
      ],
    };
    const groups = [mixed, aCollectedGroup([1, 1], 'gr-3'), aCollectedGroup([1], 'gr-4')];
    const { metrics } = grpo().planStep(groups, context);
    expect(metrics).toMatchObject({
      'reward/mean': 0.75,
      'rollouts/used': 5,
      'rollouts/failed': 1,
      'rollouts/without_reward': 1,
      'rollouts/untrainable': 1,
      'groups/constant': 1,
      'groups/singleton': 1,
      'calls/total': 8,
      'calls/untrainable': 1,
      'calls/untrainable/the_stream_broke_off': 1,
      'rows/total': 7,
      'rows/split': 1,
      'rows/split/prompt_rewritten': 1,
      'tokens/trained': 12,
      'staleness/mean': (1 + 5 * 2) / 6,
      'staleness/max': 2,
      'optim/learning_rate': 1e-5,
    });
    expect(metrics['reward/std']).toBeCloseTo(Math.sqrt((0.25 ** 2 * 5 + 0.75 ** 2) / 5), 12);
  });

  test('have the staleness of each token of a response that was sampled while weights were published', () => {
    const calls = [[{ responsePolicyVersions: [0, 1] }], [{}]];
    const rollouts = calls.map((each, reward) => aCollectedRollout({ rolloutId: `ro-${reward}`, reward, calls: each }));
    const { metrics } = grpo().planStep([{ groupId: 'gr-1', rollouts }], context);
    expect(metrics).toMatchObject({ 'staleness/mean': (2 + 1 + 2 + 2) / 4, 'staleness/max': 2 });
  });

  test('say nothing of what there was none of', () => {
    const { metrics } = grpo().planStep([], context);
    expect(metrics).not.toHaveProperty('reward/mean');
    expect(metrics).not.toHaveProperty('staleness/mean');
    expect(metrics['rollouts/used']).toBe(0);
  });
});

describe('groups that teach nothing', () => {
  test('give no update', () => {
    expect(grpo().planStep([aCollectedGroup([1, 1, 1]), aCollectedGroup([0], 'gr-2')], context).updates).toEqual([]);
  });

  test.each([
    ['an entropy bonus', { entropyCoefficient: 0.02 }],
    ['an entropy bonus and a KL term', { entropyCoefficient: 0.02, klCoefficient: 0.01 }],
    ['an entropy bonus and the regulariser of dro', { entropyCoefficient: 0.02, loss: 'dro' }],
  ] as const)('give no update when all groups are constant and the loss has %s', (_, options) => {
    expect(grpo(options).planStep([aCollectedGroup([1, 1, 1])], context).updates).toEqual([]);
  });

  test('are still trained on with an entropy bonus when another group has a signal', () => {
    const groups = [aCollectedGroup([1, 1, 1]), aCollectedGroup([1, 0], 'gr-2')];
    const plan = grpo({ entropyCoefficient: 0.02 }).planStep(groups, context);
    expect(dataOf(plan).map(({ advantages }) => advantages.some((advantage) => advantage !== 0))).toEqual([
      false,
      false,
      false,
      true,
      true,
    ]);
  });

  test('are still trained on when the loss has a KL term', () => {
    const plan = grpo({ klCoefficient: 0.01 }).planStep([aCollectedGroup([1, 1, 1])], context);
    expect(dataOf(plan).map(({ advantages }) => [...advantages])).toEqual([
      [0, 0],
      [0, 0],
      [0, 0],
    ]);
  });

  test.each([['ppo'], ['importance_sampling'], ['cispo'], ['gspo']] as const)(
    'are dropped with the loss %s',
    (loss) => {
      expect(grpo({ loss }).planStep([aCollectedGroup([1, 1, 1])], context).updates).toEqual([]);
    },
  );

  test('are dropped with a dro loss that has no regulariser', () => {
    const plan = grpo({ loss: 'dro', droBeta: 0 }).planStep([aCollectedGroup([1, 1, 1])], context);
    expect(plan.updates).toEqual([]);
  });

  test('keep the regulariser of dro: the gradient is the mean of beta times the log-ratio over all tokens', () => {
    const [beta, logRatio] = [0.5, 0.25];
    const algorithm = grpo({ loss: 'dro', droBeta: beta, advantage: { type: 'dr-grpo' } });
    const plan = algorithm.planStep([aCollectedGroup([1, 0]), aCollectedGroup([1, 1], 'gr-2')], context);
    // d/d logprob of -logprob·A + ½·beta·(logprob - samplingLogprob)² is beta·logRatio - A, and the advantages sum to 0.
    const slopes = dataOf(plan).flatMap(({ advantages, weights }) =>
      [...weights].map((weight, token) => weight * (beta * logRatio - (advantages[token] ?? Number.NaN))),
    );
    expect(slopes).toHaveLength(8);
    expect(slopes.reduce((sum, slope) => sum + slope, 0)).toBeCloseTo(beta * logRatio, 6);
  });
});

test('with per-turn credit each turn learns from its own reward', () => {
  const rollout = (rolloutId: string, turnRewards: readonly number[]): CollectedGroup['rollouts'][number] =>
    aCollectedRollout({
      rolloutId,
      turnRewards,
      reward: null,
      calls: [{ responseTokenIds: [10] }, { promptTokenIds: [1, 2, 3, 10, 5], responseTokenIds: [11] }],
    });
  const groups = [{ groupId: 'gr-1', rollouts: [rollout('a', [1, 0]), rollout('b', [0, 0.5])] }];
  const plan = grpo({ creditAssignment: { type: 'per-turn' }, advantage: { type: 'dr-grpo' } }).planStep(
    groups,
    context,
  );
  expect(advantageOf(plan, 'a')).toEqual([[0.5, -0.25]]);
  expect(advantageOf(plan, 'b')).toEqual([[-0.5, 0.25]]);
});

test('an estimator and a credit assignment of one’s own can be given', () => {
  const flipped: AdvantageEstimator = {
    name: 'flipped',
    estimate: (returns) => ({
      advantages: returns.map(({ value }) => -(value ?? 0)),
      singletonGroups: 0,
      constantGroups: 0,
    }),
  };
  const doubled = {
    name: 'doubled',
    scope: 'rollout',
    assign: ({ rows }: ReturnType<typeof aTrajectory>) => rows.map(() => [2]),
  } as const;
  const plan = grpo({ advantage: flipped, creditAssignment: doubled }).planStep([aCollectedGroup([1, 0])], context);
  expect(dataOf(plan).map(({ advantages }) => [...advantages])).toEqual([
    [-2, -2],
    [-2, -2],
  ]);
});

test('epochs and minibatches make several updates, each normalised separately', () => {
  const plan = grpo({ epochs: 2, minibatches: 2 }).planStep([aCollectedGroup([1, 0, 0, 1])], context);
  expect(plan.updates).toHaveLength(4);
  for (const { batches } of plan.updates) {
    const weights = batches.flatMap(({ data }) => data.flatMap((datum) => [...datum.weights]));
    expect(weights.reduce((sum, weight) => sum + weight, 0)).toBeCloseTo(1, 6);
  }
});

test('rows that are too long are left out, or cut, and counted', () => {
  const groups = [aCollectedGroup([1, 0])];
  const dropped = grpo({ maxTokens: 4 }).planStep(groups, context);
  expect([dropped.updates, dropped.metrics['rows/dropped']]).toEqual([[], 2]);
  const cut = grpo({ maxTokens: 4, tooLong: 'truncate' }).planStep(groups, context);
  expect([dataOf(cut)[0]?.tokenIds.length, cut.metrics['rows/truncated']]).toEqual([4, 2]);
});

test('only the named agents are trained', () => {
  const calls = [{ agentName: 'writer' }, { agentName: 'critic', promptTokenIds: [7], responseTokenIds: [8] }];
  const rollouts = [1, 0].map((reward, index) => aCollectedRollout({ rolloutId: `ro-${index}`, reward, calls }));
  const plan = grpo({ agents: ['critic'] }).planStep([{ groupId: 'gr-1', rollouts }], context);
  expect(dataOf(plan).map(({ tokenIds }) => [...tokenIds])).toEqual([
    [7, 8],
    [7, 8],
  ]);
});

test('the learning rate follows its schedule', () => {
  const algorithm = grpo({ learningRate: { schedule: 'linear', peak: 1, finalRatio: 0 } });
  const rates = [1, 6, 11].map(
    (step) => algorithm.planStep([aCollectedGroup([1, 0])], { ...context, step, totalSteps: 11 }).updates[0]?.optimizer,
  );
  expect(rates.map((rate) => rate?.learningRate)).toEqual([1, 0.5, 0]);
});

test('each optimizer step of a training step has its own learning rate', () => {
  const algorithm = grpo({
    epochs: 2,
    minibatches: 2,
    learningRate: { schedule: 'constant', peak: 1, warmupSteps: 2 },
  });
  const plan = algorithm.planStep([aCollectedGroup([1, 0])], { ...context, step: 1 });
  expect(plan.updates.map(({ optimizer }) => optimizer.learningRate)).toEqual([0.125, 0.25, 0.375, 0.5]);
  expect(plan.metrics['optim/learning_rate']).toBe(0.5);
});
