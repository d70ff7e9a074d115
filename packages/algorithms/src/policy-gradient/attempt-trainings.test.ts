import { aTrajectory, aTrajectoryRow } from '@agentlightning/core/testing';
import { expect, test } from 'vitest';
import type { ScoredTrajectory } from '../advantage/score-trajectories.ts';
import { attemptTrainings } from './attempt-trainings.ts';

const row = aTrajectoryRow([{ sequenceId: 3 }, { sequenceId: 5 }]);
const trajectory = aTrajectory({ rows: [row] });
const scored = (...advantages: readonly (number | null)[]): readonly ScoredTrajectory[] => [
  { trajectory, advantages: [advantages] },
];
const call = { tokenAdvantages: null, trainerLogprobs: null, exclusion: null };
const scores = new Map();

test('each call has its advantage, or the first reason that excludes it', () => {
  const trainings = attemptTrainings({
    trajectories: [trajectory, aTrajectory({ rolloutId: 'ro-2' })],
    stages: [
      { scored: scored(0.5, -1), exclusion: 'no-reward' },
      { scored: scored(0.5, null), exclusion: 'stale' },
      { scored: scored(0.5, null), exclusion: 'turn-limit' },
    ],
    columns: new Map(),
    scores,
  });
  expect(trainings[0]).toEqual({
    rolloutId: 'ro-1',
    attemptId: 'at-1',
    calls: [
      { ...call, sequenceId: 3, advantage: 0.5 },
      { ...call, sequenceId: 5, advantage: null, exclusion: 'stale' },
    ],
  });
  expect(trainings[1]?.calls.map(({ exclusion }) => exclusion)).toEqual(['no-reward', 'no-reward']);
});

test('advantages by token are kept for the calls whose tokens differ', () => {
  const columns = new Map([[row, { advantages: Float32Array.of(0.5, 1.5, 2, 2) }]]);
  const stages = [{ scored: scored(9, 9), exclusion: 'no-reward' as const }];
  const [training] = attemptTrainings({ trajectories: [trajectory], stages, columns, scores });
  expect(training?.calls).toEqual([
    { ...call, sequenceId: 3, advantage: 1, tokenAdvantages: [0.5, 1.5] },
    { ...call, sequenceId: 5, advantage: 2 },
  ]);
});

test('log-probabilities under the weights of the step are kept for the calls that are trained on', () => {
  const current = Float32Array.of(-0.5, -1, -2, -4);
  const [training] = attemptTrainings({
    trajectories: [trajectory],
    stages: [{ scored: scored(1, null), exclusion: 'turn-limit' }],
    columns: new Map(),
    scores: new Map([[row, { current, reference: null, critic: null, teacher: null }]]),
  });
  expect(training?.calls.map(({ trainerLogprobs }) => trainerLogprobs)).toEqual([[-0.5, -1], null]);
});
