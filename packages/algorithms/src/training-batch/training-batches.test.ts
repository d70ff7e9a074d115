import { aTrajectory, aTrajectoryRow, logprobOf } from '@agentlightning/core/testing';
import type { TrainingBatch, TrainingDatum } from '@agentlightning/core/training-runtime';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ScoredTrajectory } from '../advantage/score-trajectories.ts';
import { aggregations, tokenWeights } from './aggregation.ts';
import { type TrainingBatchOptions, trainingBatches, withReferenceLogprobs } from './training-batches.ts';

/** A rollout with a row for each list of turn lengths, all turns with the same advantage. */
function scored(rolloutId: string, rows: readonly (readonly number[])[], advantage: number | null): ScoredTrajectory {
  const trajectory = aTrajectory({
    rolloutId,
    rows: rows.map((lengths) => aTrajectoryRow(lengths.map((sampled) => ({ sampled })))),
  });
  return { trajectory, advantages: rows.map((lengths) => lengths.map(() => advantage)) };
}

const options: TrainingBatchOptions = {
  aggregation: 'token-mean',
  keepZeroAdvantages: false,
  currentPolicyVersion: 7,
};

const dataOf = (batches: readonly TrainingBatch[]): readonly TrainingDatum[] => batches.flatMap(({ data }) => data);

test('a row becomes a datum, bit by bit', () => {
  const row = aTrajectoryRow([{ policyVersion: 3 }, { policyVersion: null }, { policyVersion: 5 }], 0.7);
  const given = { trajectory: aTrajectory({ rows: [row] }), advantages: [[0.5, -0.25, null]] };
  expect(dataOf(trainingBatches([given], options))).toEqual([
    {
      tokenIds: Int32Array.from(row.tokenIds),
      trained: [
        { start: 2, end: 4 },
        { start: 6, end: 8 },
      ],
      samplingLogprobs: Float32Array.from([3, 4, 7, 8].map(logprobOf)),
      advantages: Float32Array.from([0.5, 0.5, -0.25, -0.25]),
      weights: Float32Array.from([0.25, 0.25, 0.25, 0.25]),
      temperature: 0.7,
      rolloutId: 'ro-1',
      groupId: 'gr-1',
      minPolicyVersion: 3,
      maxPolicyVersion: 7,
    },
  ]);
});

test('a turn that is left out in the middle takes its log-probabilities with it', () => {
  const given = { trajectory: aTrajectory({ rows: [aTrajectoryRow([{}, {}, {}])] }), advantages: [[1, null, 1]] };
  const [datum] = dataOf(trainingBatches([given], options));
  expect(datum?.samplingLogprobs).toEqual(Float32Array.from([3, 4, 11, 12].map(logprobOf)));
});

describe('weights', () => {
  // Rollouts of 5, 3 and 2 trained tokens; the first one in two rows.
  const rollouts = [scored('ro-1', [[3], [2]], 1), scored('ro-2', [[1, 2]], -1), scored('ro-3', [[2]], 1)];
  const weightOf = (aggregation: TrainingBatchOptions['aggregation']): Readonly<Record<string, readonly number[]>> => {
    const data = dataOf(trainingBatches(rollouts, { ...options, aggregation }));
    const ids = rollouts.map(({ trajectory }) => trajectory.rolloutId);
    return Object.fromEntries(
      ids.map((id) => [id, data.filter(({ rolloutId }) => rolloutId === id).flatMap(({ weights }) => [...weights])]),
    );
  };
  const times = (count: number, weight: number): readonly number[] =>
    Array.from({ length: count }, () => Math.fround(weight));

  test('token-mean: every token the same', () => {
    expect(weightOf('token-mean')).toEqual({
      'ro-1': times(5, 1 / 10),
      'ro-2': times(3, 1 / 10),
      'ro-3': times(2, 1 / 10),
    });
  });

  test('rollout-mean: every rollout the same, whatever its number of rows', () => {
    expect(weightOf('rollout-mean')).toEqual({
      'ro-1': times(5, 1 / 15),
      'ro-2': times(3, 1 / 9),
      'ro-3': times(2, 1 / 6),
    });
  });

  test('token-sum: the sum over tokens, the mean over rollouts', () => {
    expect(weightOf('token-sum')).toEqual({
      'ro-1': times(5, 1 / 3),
      'ro-2': times(3, 1 / 3),
      'ro-3': times(2, 1 / 3),
    });
  });

  test('seq-mean: every row the same', () => {
    expect(weightOf('seq-mean')).toEqual({
      'ro-1': [...times(3, 1 / 12), ...times(2, 1 / 8)],
      'ro-2': times(3, 1 / 12),
      'ro-3': times(2, 1 / 8),
    });
  });

  test('dr-grpo: the mean over rollouts of a sum over tokens divided by a fixed number', () => {
    expect(weightOf({ type: 'dr-grpo', tokens: 20 })).toEqual({
      'ro-1': times(5, 1 / 60),
      'ro-2': times(3, 1 / 60),
      'ro-3': times(2, 1 / 60),
    });
  });

  test('sum to what the aggregation says, exactly, for any lengths', () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 500 }), { minLength: 1, maxLength: 40 }), (lengths) => {
        fc.pre(lengths.some((tokens) => tokens > 0));
        const mass = (aggregation: TrainingBatchOptions['aggregation']): number =>
          tokenWeights(
            lengths.map((tokens) => [tokens]),
            aggregation,
          ).reduce((sum, [weight = 0], index) => sum + weight * (lengths[index] ?? 0), 0);
        const trained = lengths.filter((tokens) => tokens > 0);
        const meanLength = trained.reduce((sum, tokens) => sum + tokens, 0) / trained.length;
        expect(Math.abs(mass('token-mean') - 1)).toBeLessThan(1e-9);
        expect(Math.abs(mass('rollout-mean') - 1)).toBeLessThan(1e-9);
        expect(Math.abs(mass('seq-mean') - 1)).toBeLessThan(1e-9);
        expect(Math.abs(mass({ type: 'dr-grpo', tokens: 16 }) * 16 - mass('token-sum'))).toBeLessThan(1e-9);
        expect(Math.abs(mass('token-sum') / meanLength - 1)).toBeLessThan(1e-9);
      }),
    );
  });

  test.each(aggregations.filter((each) => each !== 'seq-mean'))(
    '%s: splitting a rollout into rows changes no weight',
    (aggregation) => {
      const split = [scored('ro-1', [[1], [2], [2]], 1), ...rollouts.slice(1)];
      const total = (given: readonly ScoredTrajectory[]): number =>
        dataOf(trainingBatches(given, { ...options, aggregation }))
          .filter(({ rolloutId }) => rolloutId === 'ro-1')
          .flatMap(({ weights }) => [...weights])
          .reduce((sum, weight) => sum + weight, 0);
      expect(total(split)).toBeCloseTo(total(rollouts), 6);
    },
  );

  test.each(aggregations)('%s: the order of the rollouts changes nothing', (aggregation) => {
    const key = ({ rolloutId, tokenIds }: TrainingDatum): string => `${rolloutId}:${tokenIds.length}`;
    const byKey = (given: readonly ScoredTrajectory[]): readonly TrainingDatum[] =>
      dataOf(trainingBatches(given, { ...options, aggregation })).toSorted((a, b) => (key(a) < key(b) ? -1 : 1));
    expect(byKey(rollouts.toReversed())).toEqual(byKey(rollouts));
  });
});

describe('rows without any advantage', () => {
  const rollouts = [scored('ro-1', [[2]], 1), scored('ro-2', [[3]], 0), scored('ro-3', [[4]], -1)];

  test('are left out, and all others weigh as if they were there', () => {
    const kept = dataOf(trainingBatches(rollouts, { ...options, keepZeroAdvantages: true }));
    const left = dataOf(trainingBatches(rollouts, options));
    expect(left.map(({ rolloutId }) => rolloutId).toSorted()).toEqual(['ro-1', 'ro-3']);
    expect(left).toEqual(kept.filter(({ rolloutId }) => rolloutId !== 'ro-2'));
  });

  test('stay when the loss learns from them', () => {
    expect(dataOf(trainingBatches(rollouts, { ...options, keepZeroAdvantages: true }))).toHaveLength(3);
  });

  test('alone give no batch', () => {
    expect(trainingBatches([scored('ro-1', [[2]], 0)], options)).toEqual([]);
  });

  test('a turn without a return is not trained on, even if everything is kept', () => {
    expect(trainingBatches([scored('ro-1', [[2]], null)], { ...options, keepZeroAdvantages: true })).toEqual([]);
  });
});

describe('several batches', () => {
  test('keep the token limit, have every datum once, and weigh the same as one', () => {
    const lengths = fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(lengths, fc.integer({ min: 2, max: 80 }), (sampled, maxBatchTokens) => {
        const rollouts = sampled.map((count, index) => scored(`ro-${index}`, [[count]], 1));
        const batches = trainingBatches(rollouts, { ...options, maxBatchTokens });
        for (const { data } of batches) {
          const tokens = data.reduce((sum, { tokenIds }) => sum + tokenIds.length, 0);
          expect(data.length === 1 || tokens <= maxBatchTokens).toBe(true);
        }
        expect(dataOf(batches)).toEqual(dataOf(trainingBatches(rollouts, options)));
      }),
    );
  });

  test('are filled to the token limit', () => {
    const rollouts = [8, 8, 8, 8].map((sampled, index) => scored(`ro-${index}`, [[sampled]], 1));
    const [{ data: [datum] = [] } = { data: [] }] = trainingBatches(rollouts, options);
    const length = datum?.tokenIds.length ?? 0;
    const batches = trainingBatches(rollouts, { ...options, maxBatchTokens: 2 * length });
    expect(batches.map(({ data }) => data.length)).toEqual([2, 2]);
  });

  test('have sequences of similar length together', () => {
    const rollouts = [1, 30, 2, 28].map((sampled, index) => scored(`ro-${index}`, [[sampled]], 1));
    const batches = trainingBatches(rollouts, { ...options, maxBatchTokens: 64 });
    expect(batches.map(({ data }) => data.map(({ tokenIds }) => tokenIds.length))).toEqual([
      [32, 30],
      [4, 3],
    ]);
  });
});

describe('reference log-probabilities', () => {
  const [batch = { data: [] }] = trainingBatches([scored('ro-1', [[2]], 1)], options);

  test('are put beside the trained tokens', () => {
    const reference = Float32Array.from([-1, -2]);
    expect(withReferenceLogprobs(batch, [reference]).data[0]?.referenceLogprobs).toBe(reference);
  });

  test('must be as many as those', () => {
    expect(() => withReferenceLogprobs(batch, [new Float32Array(3)])).toThrow(
      /\[0\]: there are 3 for 2 trained tokens/,
    );
    expect(() => withReferenceLogprobs(batch, [])).toThrow(/\[0\]: there are 0 for 2 trained tokens/);
  });
});
