import type { Algorithm } from '@agentlightning/core';
import type { CollectedGroup, StepContext, StepPlan } from '@agentlightning/core/algorithm';
import { aCollectedRollout } from '@agentlightning/core/testing';
import type { TrainingDatum } from '@agentlightning/core/training-runtime';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { AlgorithmOptions } from '../algorithm-options.ts';
import { algorithmTypes, createAlgorithm } from '../registry.ts';

const types = algorithmTypes.filter((type) => type !== 'custom');

/** A step with a few tasks, whose rollouts have different rewards, one to three turns, and rows that break. */
const anyGroups: fc.Arbitrary<readonly CollectedGroup[]> = fc
  .array(
    fc.uniqueArray(fc.record({ reward: fc.integer({ min: 0, max: 40 }), turns: fc.integer({ min: 1, max: 3 }) }), {
      minLength: 2,
      maxLength: 5,
      selector: ({ reward }) => reward,
    }),
    { minLength: 1, maxLength: 4 },
  )
  .map((groups) =>
    groups.map((rollouts, group) => ({
      groupId: `gr-${group}`,
      rollouts: rollouts.map(({ reward, turns }, index) =>
        aCollectedRollout({
          rolloutId: `ro-${group}-${index}`,
          reward: reward / 8,
          calls: Array.from({ length: turns }, (_, turn) => ({
            // Every other turn begins anew.
            promptTokenIds: turn === 1 ? [1, 2, 3, 10 + index, 4] : [1, 2, 3],
            responseTokenIds: turn === 1 ? [40, 41, 42] : [10 + index],
          })),
        }),
      ),
    })),
  );

/** Settings that draw at random, for the recipes that have them. */
const anySettings = fc.record({
  epochs: fc.integer({ min: 1, max: 3 }),
  minibatches: fc.integer({ min: 1, max: 3 }),
});

const contextOf = (seed: number): StepContext => ({ step: 3, totalSteps: 9, policyVersion: 2, seed });

/** The plan, with scores that differ from token to token and from policy to policy. */
function planOf(algorithm: Algorithm, groups: readonly CollectedGroup[], context: StepContext): StepPlan {
  const request = algorithm.scoring?.(groups, context) ?? null;
  if (request === null) return algorithm.planStep(groups, context);
  const scores = Object.fromEntries(
    request.policies.map((policy, rank) => [
      policy,
      (policy === 'teacher' ? (request.teacherData ?? []) : request.data).map(({ samplingLogprobs }) =>
        samplingLogprobs.map((own, token) => own * (1 + 0.1 * rank) - token / 64),
      ),
    ]),
  );
  return algorithm.planStep(groups, { ...context, scores });
}

interface Settings {
  readonly epochs?: number;
  readonly minibatches?: number;
  readonly maxTurns?: number;
  readonly maxBatchTokens?: number;
}

/** The recipe with these settings; pairs are gone through once. */
function made(type: (typeof types)[number], { epochs, minibatches, ...rest }: Settings): Algorithm {
  const rounds = type === 'dpo' || type === 'kto' ? {} : { epochs: epochs ?? 1, minibatches: minibatches ?? 1 };
  const teacher = type === 'distillation' ? { teacher: { run: 'run-1@best' } } : {};
  return createAlgorithm({ type, ...rounds, ...teacher, ...rest } as AlgorithmOptions);
}

function dataOf(plan: StepPlan): readonly TrainingDatum[] {
  return plan.updates.flatMap(({ batches }) => batches.flatMap(({ data }) => data));
}

function byRow(data: readonly TrainingDatum[]): readonly TrainingDatum[] {
  const key = ({ rolloutId, tokenIds, trained }: TrainingDatum): string =>
    JSON.stringify([rolloutId, [...tokenIds], trained]);
  return data.toSorted((one, other) => (key(one) < key(other) ? -1 : 1));
}

describe.each(types)('%s', (type) => {
  test('makes the same plan of the same rollouts and seed, in any instance and however often', () => {
    fc.assert(
      fc.property(anyGroups, anySettings, fc.integer({ min: 0, max: 2 ** 32 - 1 }), (groups, settings, seed) => {
        const first = planOf(made(type, settings), groups, contextOf(seed));
        const reused = made(type, settings);
        planOf(reused, groups.slice(0, 1), contextOf(seed + 1));
        expect(planOf(reused, structuredClone(groups), contextOf(seed))).toEqual(first);
      }),
      { numRuns: 25 },
    );
  });

  test('makes the same of rollouts in any order, in one batch or in many', () => {
    const anySplit = fc.integer({ min: 4, max: 60 });
    fc.assert(
      fc.property(anyGroups, anySplit, (groups, maxBatchTokens) => {
        const turned = groups.toReversed().map((group) => ({ ...group, rollouts: group.rollouts.toReversed() }));
        const one = byRow(dataOf(planOf(made(type, {}), groups, contextOf(1))));
        const other = byRow(dataOf(planOf(made(type, { maxBatchTokens }), turned, contextOf(1))));
        expect(other.map(({ rolloutId }) => rolloutId)).toEqual(one.map(({ rolloutId }) => rolloutId));
        for (const [index, datum] of one.entries()) {
          for (const column of ['advantages', 'weights', 'samplingLogprobs'] as const) {
            for (const [token, value] of datum[column].entries())
              expect(Math.abs((other[index]?.[column][token] ?? Number.NaN) - value)).toBeLessThan(
                1e-6 * Math.max(1, Math.abs(value)),
              );
          }
        }
      }),
      { numRuns: 25 },
    );
  });
});

test('another seed draws another order of minibatches, and other turns', () => {
  const rollouts = Array.from({ length: 12 }, (_, index) =>
    aCollectedRollout({
      rolloutId: `ro-${index}`,
      reward: index,
      calls: [{}, { promptTokenIds: [7] }, { promptTokenIds: [8] }],
    }),
  );
  const groups = [{ groupId: 'gr-1', rollouts }];
  for (const settings of [{ minibatches: 3 }, { maxTurns: 1 }] as const) {
    const drawn = (seed: number): unknown => planOf(made('grpo', settings), groups, contextOf(seed)).updates;
    expect(drawn(1)).toEqual(drawn(1));
    expect(drawn(1)).not.toEqual(drawn(2));
  }
});
