import { aTrajectory, aTrajectoryRow, logprobOf } from '@agentlightning/core/testing';
import { expect, test } from 'vitest';
import { limitRowLength } from './limit-row-length.ts';

// Given 2, sampled 2, given 2, sampled 2: 8 tokens.
const trajectory = aTrajectory({ rows: [aTrajectoryRow([{}, {}]), aTrajectoryRow([{ sequenceId: 3 }])] });

test('a row that is short enough is unchanged', () => {
  expect(limitRowLength(trajectory, { maxTokens: 8, tooLong: 'drop' })).toEqual({
    trajectory,
    dropped: 0,
    truncated: 0,
  });
});

test('a row that is too long is dropped, and the rollout keeps its other rows and its reward', () => {
  const { trajectory: short, dropped, truncated } = limitRowLength(trajectory, { maxTokens: 7, tooLong: 'drop' });
  expect(short.rows).toEqual([trajectory.rows[1]]);
  expect([short.reward, dropped, truncated]).toEqual([1, 1, 0]);
});

test('or its end is cut off, within a response', () => {
  const { trajectory: short, truncated } = limitRowLength(trajectory, { maxTokens: 7, tooLong: 'truncate' });
  expect(short.rows[0]?.tokenIds).toEqual([1, 2, 3, 4, 5, 6, 7]);
  expect(short.rows[0]?.trained.map(({ start, end }) => [start, end])).toEqual([
    [2, 4],
    [6, 7],
  ]);
  expect(short.rows[0]?.samplingLogprobs).toEqual([3, 4, 7].map(logprobOf));
  expect(truncated).toBe(1);
});

test('or before one', () => {
  const { trajectory: short } = limitRowLength(trajectory, { maxTokens: 5, tooLong: 'truncate' });
  expect(short.rows[0]?.trained.map(({ start, end }) => [start, end])).toEqual([[2, 4]]);
  expect(short.rows[0]?.samplingLogprobs).toEqual([3, 4].map(logprobOf));
});

test('what has nothing trained left is dropped', () => {
  const { trajectory: short, dropped } = limitRowLength(trajectory, { maxTokens: 2, tooLong: 'truncate' });
  expect([short.rows, dropped]).toEqual([[], 2]);
});

test('images of turns that are cut off are dropped', () => {
  const images = [0, 1].map((turn) => ({ url: `data:image/png;base64,${turn}`, turn }));
  const rows = [{ ...aTrajectoryRow([{}, {}]), images }];
  const { trajectory: short } = limitRowLength(aTrajectory({ rows }), { maxTokens: 5, tooLong: 'truncate' });
  expect(short.rows[0]?.images).toEqual(images.slice(0, 1));
});
