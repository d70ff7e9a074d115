import type { Trajectory, TrajectoryRow } from '@agentlightning/core/algorithm';
import { aTrajectory, aTrajectoryRow } from '@agentlightning/core/testing';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ScoresByRow } from '../rows/row-scores.ts';
import { limitRowLength } from '../trajectory/limit-row-length.ts';
import type { ValueScoring } from './estimate-by-value.ts';
import { scoreByValue } from './score-by-value.ts';

const plain: ValueScoring = {
  gae: { type: 'gae', whiten: false },
  rewards: 'terminal',
  kl: { coefficient: 0, estimator: 'k1' },
};

function scoresOf(
  trajectories: readonly Trajectory[],
  expectedAt: (place: number, row: TrajectoryRow) => number,
  referenceShift = 0,
): ScoresByRow {
  return new Map(
    trajectories
      .flatMap(({ rows }) => rows)
      .map((row) => [
        row,
        {
          current: null,
          reference: Float32Array.from(row.samplingLogprobs, (logprob) => logprob + referenceShift),
          critic: Float32Array.from(row.samplingLogprobs, (_, place) => expectedAt(place, row)),
          teacher: null,
        },
      ]),
  );
}

/** The advantages of each row's tokens. */
function advantagesOf(trajectory: Trajectory, scores: ScoresByRow, scoring: ValueScoring = plain): number[][] {
  const { columns } = scoreByValue([trajectory], scores, scoring);
  return trajectory.rows.map((row) => [...(columns.get(row)?.advantages ?? [])]);
}

describe('the rewards of a rollout', () => {
  // Two turns of two tokens; the tokens between them were given.
  const trajectory = aTrajectory({ reward: 1 });
  const scores = scoresOf([trajectory], (place) => place / 4);

  test('its outcome comes after its last token, and what was given in between takes no time', () => {
    expect(advantagesOf(trajectory, scores)).toEqual([[1, 0.75, 0.5, 0.25]]);
    const discounted = advantagesOf(trajectory, scores, { ...plain, gae: { ...plain.gae, discount: 0.5 } });
    expect(discounted).toEqual([[0.125, 0.25 - 0.25, 0.5 - 0.5, 1 - 0.75]]);
  });

  test('a turn has the mean of its tokens', () => {
    const { scored } = scoreByValue([trajectory], scores, plain);
    expect(scored).toEqual([{ trajectory, advantages: [[(1 + 0.75) / 2, (0.5 + 0.25) / 2]] }]);
  });

  test.each([
    ['per-turn', 2, 1],
    ['per-turn', null, 0],
    ['terminal', 2, 0],
  ] as const)(
    'without an outcome, with rewards %s and a turn of %s, %i rollout is scored',
    (rewards, reward, count) => {
      const rows = [aTrajectoryRow([{ reward: null }, { reward }])];
      const given = aTrajectory({ reward: null, rows });
      const judged = scoreByValue(
        [given],
        scoresOf([given], () => 0),
        { ...plain, rewards },
      );
      expect([judged.scored.length, judged.withoutReturn]).toEqual([count, 1 - count]);
    },
  );

  test('with λ = 0 only the last token hears of the outcome at once', () => {
    expect(advantagesOf(trajectory, scores, { ...plain, gae: { ...plain.gae, lambda: 0 } })).toEqual([
      [0.25, 0.25, 0.25, 0.25],
    ]);
  });

  test('turns that were rewarded themselves have their own', () => {
    const rows = [aTrajectoryRow([{ reward: 2 }, { reward: null }])];
    const rewarded = aTrajectory({ reward: 1, rows });
    const silent = scoresOf([rewarded], () => 0);
    expect(advantagesOf(rewarded, silent)).toEqual([[1, 1, 1, 1]]);
    expect(advantagesOf(rewarded, silent, { ...plain, rewards: 'per-turn' })).toEqual([[3, 3, 1, 1]]);
  });

  test('a KL term takes its part from every token', () => {
    const shifted = scoresOf([trajectory], () => 0, -0.5);
    const [advantages = []] = advantagesOf(trajectory, shifted, {
      ...plain,
      kl: { coefficient: 0.1, estimator: 'k1' },
    });
    for (const [token, expected] of [0.8, 0.85, 0.9, 0.95].entries())
      expect(advantages[token]).toBeCloseTo(expected, 6);
  });

  test('a rollout without any reward is left out and counted', () => {
    const silent = aTrajectory({ reward: null });
    const judged = scoreByValue(
      [trajectory, silent],
      scoresOf([trajectory, silent], () => 0),
      plain,
    );
    expect([judged.scored.length, judged.withoutReturn]).toEqual([1, 1]);
  });
});

describe('several rows', () => {
  const rowsOf = (...turns: readonly (readonly number[])[]): TrajectoryRow[] =>
    turns.map((ids) => aTrajectoryRow(ids.map((sequenceId) => ({ sequenceId }))));

  test('continue each other in the order of their turns', () => {
    const trajectory = aTrajectory({ reward: 1, rows: rowsOf([1, 3], [2]) });
    const [first, second] = trajectory.rows;
    // Turns 1, 2 and 3 have the values 0, 0.5 and 0.75.
    const scores = scoresOf([trajectory], (place, row) => (row === second ? 0.5 : place < 2 ? 0 : 0.75));
    const zero = { ...plain, gae: { ...plain.gae, lambda: 0 } };
    expect(first && advantagesOf(trajectory, scores, zero)).toEqual([
      [0, 0.5, 0, 0.25],
      [0, 0.25],
    ]);
  });

  test('the choices of one call are alternatives: none comes after the other', () => {
    const trajectory = aTrajectory({ reward: 1, rows: rowsOf([1], [1], [2]) });
    const scores = scoresOf([trajectory], () => 0.25);
    expect(advantagesOf(trajectory, scores)).toEqual([
      [0.75, 0.75],
      [0.75, 0.75],
      [0.75, 0.75],
    ]);
  });
});

describe('a rollout whose end was cut off', () => {
  const whole = aTrajectory({ reward: 5, rows: [aTrajectoryRow([{ sampled: 2 }, { sampled: 4 }])] });

  test.each([
    ['within a turn', 8],
    ['between turns', 5],
  ])('bootstraps from the value at its last token: %s', (_, maxTokens) => {
    const { trajectory } = limitRowLength(whole, { maxTokens, tooLong: 'truncate' });
    expect(trajectory.isTruncated).toBe(true);
    const scores = scoresOf([trajectory], (place) => 1 + place / 4);
    const judged = scoreByValue([trajectory], scores, plain);
    const [row] = trajectory.rows;
    const columns = row && judged.columns.get(row);
    const last = (row?.samplingLogprobs.length ?? 0) - 1;
    // The value before the last token less that before each: the reward of 5 came later and does not count.
    for (let token = 0; token < last; token += 1) expect(columns?.advantages?.[token]).toBe((last - token) / 4);
    expect([...(columns?.weightFactors ?? [])]).toEqual([...Array<number>(last).fill(1), 0]);
    expect(columns?.valueTargets?.[0]).toBe(1 + last / 4);
  });

  test('of which nothing was cut is as it was', () => {
    const { trajectory } = limitRowLength(whole, { maxTokens: 100, tooLong: 'truncate' });
    expect(trajectory).toEqual(whole);
  });
});

describe('whitening', () => {
  const anyOutcomes = fc.array(fc.integer({ min: -8, max: 8 }), { minLength: 2, maxLength: 8 });

  test('gives mean 0 and variance 1 over tokens, less where the value head errs more, keeps their order, and leaves what the value head learns alone', () => {
    fc.assert(
      fc.property(anyOutcomes, (outcomes) => {
        fc.pre(new Set(outcomes).size > 1);
        const trajectories = outcomes.map((reward, index) =>
          aTrajectory({ rolloutId: `ro-${index}`, reward, rows: [aTrajectoryRow([{ sampled: 1 + index }])] }),
        );
        const scores = scoresOf(trajectories, (place) => place / 8);
        const white = scoreByValue(trajectories, scores, { ...plain, gae: { type: 'gae' } });
        const raw = scoreByValue(trajectories, scores, plain);
        const all = (judged: typeof white, column: 'advantages' | 'valueTargets'): readonly number[] =>
          [...judged.columns.values()].flatMap((columns) => [...(columns[column] ?? [])]);
        const advantages = all(white, 'advantages');
        const mean = advantages.reduce((sum, value) => sum + value, 0) / advantages.length;
        const varianceOf = (values: readonly number[]): number => {
          const centre = values.reduce((sum, value) => sum + value, 0) / values.length;
          return values.reduce((sum, value) => sum + (value - centre) ** 2, 0) / (values.length - 1);
        };
        const signal = varianceOf(all(raw, 'valueTargets')) / varianceOf(all(raw, 'advantages'));
        expect(Math.abs(mean)).toBeLessThan(1e-5);
        expect(Math.abs(varianceOf(advantages) - Math.min(1, signal))).toBeLessThan(1e-4);
        const ranks = (values: readonly number[]): readonly number[] =>
          values.map((_, at) => at).toSorted((one, other) => (values[one] ?? 0) - (values[other] ?? 0) || one - other);
        expect(ranks(advantages)).toEqual(ranks(all(raw, 'advantages')));
        expect(all(white, 'valueTargets')).toEqual(all(raw, 'valueTargets'));
      }),
    );
  });

  test('does not amplify the error of the value head where all returns are equal', () => {
    const trajectories = [1, 2, 3].map((index) => aTrajectory({ rolloutId: `ro-${index}`, reward: 1 }));
    const scores = scoresOf(trajectories, (place) => 1 + 0.01 * (place % 2));
    const judged = scoreByValue(trajectories, scores, { ...plain, gae: { type: 'gae' } });
    for (const { advantages } of judged.columns.values()) {
      for (const advantage of advantages ?? []) expect(Math.abs(advantage)).toBeLessThan(1e-5);
    }
  });

  test('of equal advantages is 0', () => {
    const trajectories = [aTrajectory(), aTrajectory({ rolloutId: 'ro-2' })];
    const judged = scoreByValue(
      trajectories,
      scoresOf(trajectories, () => 0),
      { ...plain, gae: { type: 'gae' } },
    );
    for (const { advantages } of judged.columns.values()) expect([...(advantages ?? [])]).toEqual([0, 0, 0, 0]);
  });
});

test('the metrics tell how much of the returns the value head explains', () => {
  const trajectories = [1, 0].map((reward) => aTrajectory({ rolloutId: `ro-${reward}`, reward }));
  const metricsOf = (knows: boolean) =>
    scoreByValue(
      trajectories,
      scoresOf(trajectories, (_, row) => (knows && row === trajectories[0]?.rows[0] ? 1 : 0)),
      plain,
    ).metrics;
  expect(metricsOf(true)).toMatchObject({ 'value/mean': 0.5, 'value/target_mean': 0.5, 'value/explained_variance': 1 });
  expect(metricsOf(false)).toMatchObject({ 'value/mean': 0, 'value/target_mean': 0.5, 'value/explained_variance': 0 });
});

describe('statistics of few tokens', () => {
  const scoreTokens = (rewards: readonly number[], gae: ValueScoring['gae'], value = 0) => {
    const trajectories = rewards.map((reward, index) =>
      aTrajectory({ rolloutId: `ro-${index}`, reward, rows: [aTrajectoryRow([{ sampled: 1 }])] }),
    );
    const { columns, metrics } = scoreByValue(
      trajectories,
      scoresOf(trajectories, () => value),
      { ...plain, gae },
    );
    return { advantages: [...columns.values()].flatMap(({ advantages }) => [...(advantages ?? [])]), metrics };
  };

  test('a single token is not whitened', () => {
    const { advantages, metrics } = scoreTokens([3], { type: 'gae' }, 1);
    expect(advantages).toEqual([2]);
    expect(metrics).toEqual({ 'advantage/std': 0, 'value/mean': 1, 'value/target_mean': 3 });
  });

  test('two tokens are whitened with the sample variance', () => {
    const { advantages, metrics } = scoreTokens([3, 1], { type: 'gae' });
    expect(advantages[0]).toBeCloseTo(Math.SQRT1_2, 6);
    expect(advantages[1]).toBeCloseTo(-Math.SQRT1_2, 6);
    expect(metrics['advantage/std']).toBeCloseTo(Math.SQRT2, 12);
  });

  test('without rollouts there are no metrics', () => {
    expect(scoreTokens([], { type: 'gae' }).metrics).toEqual({});
  });

  test('equal returns have no explained variance', () => {
    expect(scoreTokens([1, 1], plain.gae, 0.5).metrics).toEqual({
      'advantage/std': 0,
      'value/mean': 0.5,
      'value/target_mean': 1,
    });
  });
});

test('the explained variance compares the errors of the value head with the returns', () => {
  const trajectories = [1, 0].map((reward) => aTrajectory({ rolloutId: `ro-${reward}`, reward }));
  const scores = scoresOf(trajectories, (_, row) => (row === trajectories[0]?.rows[0] ? 0.5 : 0.25));
  const { metrics } = scoreByValue(trajectories, scores, plain);
  // Four tokens with the advantage 0.5 and the return 1, and four with -0.25 and 0.
  expect(metrics['advantage/std']).toBeCloseTo(Math.sqrt((8 * 0.375 ** 2) / 7), 12);
  expect(metrics['value/explained_variance']).toBeCloseTo(1 - 0.375 ** 2 / 0.5 ** 2, 12);
});
