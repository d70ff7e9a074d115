import { describe, expect, test } from 'vitest';
import type { Algorithm, CollectedGroup, StepContext, StepPlan } from '../algorithm/algorithm.ts';
import type { TrainingDatum } from '../training-runtime/training-batch.ts';
import { aCollectedGroup, aCollectedRollout, logprobOf } from './a-trajectory.ts';
import { deepFreeze } from './deep-freeze.ts';

/** Options of the algorithm contract. */
export interface AlgorithmContractOptions {
  /** Name of the implementation in the test report. */
  readonly name: string;
  readonly create: () => Algorithm;
  /** Whether only rollouts with a reward are used for training. @default true */
  readonly needsReward?: boolean;
}

/**
 * The contract that every {@link Algorithm} keeps, as vitest tests.
 *
 * @example
 * ```ts
 * describeAlgorithmContract({ name: 'grpo', create: grpo });
 * ```
 */
export function describeAlgorithmContract(options: AlgorithmContractOptions): void {
  describe(`the algorithm contract: ${options.name}`, () => {
    describePlans(options);
    describeScoring(options);
    describeData(options);
    describeLeftOut(options);
  });
}

const context: StepContext = { step: 2, totalSteps: 10, policyVersion: 3, seed: 7 };

function describePlans({ create }: AlgorithmContractOptions): void {
  test('it has a name and a group size', () => {
    expect(create().name).not.toBe('');
    expect(create().groupSize).toSatisfy((size: number) => Number.isInteger(size) && size >= 1);
  });

  test('without rollouts the plan is empty', () => {
    expect(planOf(create(), [], context).updates).toEqual([]);
    expect(planOf(create(), [{ groupId: 'gr-1', rollouts: [] }], context).updates).toEqual([]);
  });

  test('rollouts with different rewards give updates', () => {
    expect(dataOf(planOf(create(), groups, context))).not.toHaveLength(0);
  });

  test('planning is deterministic and does not mutate the rollouts', () => {
    const plan = planOf(create(), groups, context);
    expect(planOf(create(), deepFreeze(structuredClone(groups)), context)).toEqual(plan);
  });

  test('every update has a loss, an optimizer and no empty batch', () => {
    for (const { batches, loss, optimizer } of planOf(create(), groups, context).updates) {
      expect(batches).not.toHaveLength(0);
      for (const { data } of batches) expect(data).not.toHaveLength(0);
      expect(loss.name).not.toBe('');
      for (const value of Object.values(loss.parameters)) expect(value).toSatisfy(Number.isFinite);
      expect(optimizer.learningRate).toBeGreaterThan(0);
    }
  });

  test.each([['with rollouts', groups] as const, ['without', []] as const])(
    'metrics are finite numbers: %s',
    (_, given) => {
      for (const value of Object.values(planOf(create(), given, context).metrics)) {
        expect(value).toSatisfy(Number.isFinite);
      }
    },
  );

  test('batches respect the limit of the runtime', () => {
    const plan = planOf(create(), groups, { ...context, maxBatchTokens: 12 });
    for (const { data } of plan.updates.flatMap(({ batches }) => batches)) {
      const tokens = data.reduce((sum, { tokenIds }) => sum + tokenIds.length, 0);
      expect(data.length === 1 || tokens <= 12).toBe(true);
    }
    expect(dataOf(plan)).toHaveLength(dataOf(planOf(create(), groups, context)).length);
  });
}

function describeScoring({ create }: AlgorithmContractOptions): void {
  const { scoring, needsValueHead = false } = create();
  if (scoring === undefined && !needsValueHead) return;

  test('data to be scored have every sampled token with its own log-probability', () => {
    const { data = [] } = create().scoring?.(groups, context) ?? {};
    expect(data).not.toHaveLength(0);
    for (const { tokenIds, trained, samplingLogprobs } of data) {
      const sampled = trained.flatMap(({ start, end }) => [...tokenIds.subarray(start, end)]);
      expect([...samplingLogprobs]).toEqual(sampled.map((tokenId) => Math.fround(logprobOf(tokenId))));
    }
  });

  test('values are requested if and only if there is a value head', () => {
    const { policies = [] } = create().scoring?.(groups, context) ?? {};
    expect(policies.includes('critic')).toBe(needsValueHead);
  });
}

function describeData({ create }: AlgorithmContractOptions): void {
  test('a datum has one log-probability, advantage and weight for each trained token', () => {
    for (const datum of dataOf(planOf(create(), groups, context))) {
      const trainedTokens = datum.trained.reduce((sum, { start, end }) => sum + end - start, 0);
      expect(trainedTokens).toBeGreaterThan(0);
      expect(datum.samplingLogprobs).toHaveLength(trainedTokens);
      expect(datum.advantages).toHaveLength(trainedTokens);
      expect(datum.weights).toHaveLength(trainedTokens);
      for (const value of [...datum.advantages, ...datum.weights]) expect(value).toSatisfy(Number.isFinite);
      for (const values of [datum.valueTargets, datum.samplingValues].filter((column) => column !== undefined)) {
        expect(values).toHaveLength(trainedTokens);
        for (const value of values) expect(value).toSatisfy(Number.isFinite);
      }
    }
  });

  test('trained intervals are in order, do not overlap, and leave out the first token', () => {
    for (const { trained, tokenIds } of dataOf(planOf(create(), groups, context))) {
      let end = 1;
      for (const interval of trained) {
        expect(interval.start).toBeGreaterThanOrEqual(end);
        expect(interval.end).toBeGreaterThan(interval.start);
        end = interval.end;
      }
      expect(end).toBeLessThanOrEqual(tokenIds.length);
    }
  });

  test('every trained token has the log-probability it was sampled with: no off-by-one shift', () => {
    for (const { trained, tokenIds, samplingLogprobs } of dataOf(planOf(create(), groups, context))) {
      const sampled = trained.flatMap(({ start, end }) => [...tokenIds.subarray(start, end)]);
      expect([...samplingLogprobs]).toEqual(sampled.map((tokenId) => Math.fround(logprobOf(tokenId))));
      for (const tokenId of sampled) expect(tokenId).toBeGreaterThanOrEqual(10);
    }
  });

  test('a datum has its rollout, its group, its temperature and its policy versions', () => {
    for (const datum of dataOf(planOf(create(), groups, context))) {
      expect(datum.rolloutId).toMatch(/^ro-/);
      expect(datum.groupId).toMatch(/^gr-/);
      expect(datum.temperature).toBe(1);
      expect([datum.minPolicyVersion, datum.maxPolicyVersion]).toEqual([0, 0]);
    }
  });

  test('a datum has the policy versions of its oldest and its newest token', () => {
    const rollouts = [0, 1].map((reward, index) =>
      aCollectedRollout({
        rolloutId: `ro-in-flight-${index}`,
        reward,
        calls: [{ responseTokenIds: [10 + index, 20], responsePolicyVersions: [1, 2] }],
      }),
    );
    const data = dataOf(planOf(create(), [{ groupId: 'gr-3', rollouts }], context));
    expect(data).not.toHaveLength(0);
    for (const datum of data) expect([datum.minPolicyVersion, datum.maxPolicyVersion]).toEqual([1, 2]);
  });
}

/** Above all other rewards, so that an algorithm that selects by reward would select the rollout. */
const highestReward = 2;

function describeLeftOut({ create, needsReward = true }: AlgorithmContractOptions): void {
  const train = (rollout: CollectedGroup['rollouts'][number]): readonly string[] => {
    const group = { ...aCollectedGroup([0, 1, 0.5], 'gr-9') };
    const plan = planOf(create(), [{ ...group, rollouts: [...group.rollouts, rollout] }], context);
    return dataOf(plan).map(({ rolloutId }) => rolloutId);
  };

  test('an unsuccessful rollout is excluded', () => {
    const failed = aCollectedRollout({ rolloutId: 'ro-failed', status: 'failed', reward: highestReward });
    expect(train(failed)).not.toContain('ro-failed');
  });

  test(`a rollout without a reward is ${needsReward ? 'excluded' : 'included'}`, () => {
    const trained = train(aCollectedRollout({ rolloutId: 'ro-none', reward: null }));
    expect(trained.includes('ro-none')).toBe(!needsReward);
  });

  test('a rollout without a model call does not exclude the rest of its group', () => {
    expect(train(aCollectedRollout({ rolloutId: 'ro-silent', calls: [], reward: highestReward }))).not.toHaveLength(0);
  });

  test('an untrainable model call is excluded', () => {
    const calls = [{ isTrainable: false, untrainableReason: 'partial' }];
    const partial = aCollectedRollout({ rolloutId: 'ro-partial', calls, reward: highestReward });
    expect(train(partial)).not.toContain('ro-partial');
  });
}

function dataOf(plan: StepPlan): readonly TrainingDatum[] {
  return plan.updates.flatMap(({ batches }) => batches.flatMap(({ data }) => data));
}

/** Two tasks with rollouts of one and two turns. Sampled token ids are 10 and above, all others below. */
const groups: readonly CollectedGroup[] = [
  aCollectedGroup([1, 0, 0.5, null], 'gr-1'),
  {
    groupId: 'gr-2',
    rollouts: [0.25, 1].map((reward, index) =>
      aCollectedRollout({
        rolloutId: `ro-two-turns-${index}`,
        reward,
        turnRewards: [index, null],
        calls: [
          { promptTokenIds: [1, 2], responseTokenIds: [10, 11 + index] },
          { promptTokenIds: [1, 2, 10, 11 + index, 3], responseTokenIds: [30] },
        ],
      }),
    ),
  },
];

/** The plan of an algorithm, with its requested scores: those of the sampling policy. A teacher has higher ones. */
function planOf(algorithm: Algorithm, groups: readonly CollectedGroup[], given: StepContext): StepPlan {
  const request = algorithm.scoring?.(groups, given) ?? null;
  if (request === null) return algorithm.planStep(groups, given);
  const { data, policies, teacherData = data } = request;
  const scores = Object.fromEntries(
    policies.map((policy) => [
      policy,
      policy === 'teacher'
        ? teacherData.map(({ samplingLogprobs }) => samplingLogprobs.map((own) => own + 0.25))
        : data.map(({ samplingLogprobs }) => samplingLogprobs),
    ]),
  );
  return algorithm.planStep(groups, { ...given, scores });
}
