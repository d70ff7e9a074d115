import { expect, test } from 'vitest';
import { eloRatings, type GameResult } from '../elo.ts';

const games = (count: number, result: GameResult): GameResult[] => Array.from({ length: count }, () => result);

test('winning ten times as often as losing is about 400 points', () => {
  const results = [...games(1000, { winner: 'new', loser: 'old' }), ...games(100, { winner: 'old', loser: 'new' })];
  const ratings = eloRatings(['old', 'new'], results);
  expect((ratings.get('new') ?? 0) - (ratings.get('old') ?? 0)).toBeCloseTo(400, -1);
});

test('ratings are transitive, do not depend on the order of games, and have a mean of 1500', () => {
  const results = [...games(30, { winner: 'b', loser: 'a' }), ...games(30, { winner: 'c', loser: 'b' })];
  const ratings = eloRatings(['a', 'b', 'c'], results);
  const values = ['a', 'b', 'c'].map((name) => ratings.get(name) ?? 0);
  expect(values).toEqual(values.toSorted((one, other) => one - other));
  expect(values.reduce((sum, value) => sum + value, 0) / 3).toBeCloseTo(1500);
  expect(eloRatings(['a', 'b', 'c'], results.toReversed())).toEqual(ratings);
});

test('draws make players equal', () => {
  const ratings = eloRatings(['a', 'b'], games(10, { winner: 'a', loser: 'b', isDraw: true }));
  expect(ratings.get('a')).toBeCloseTo(1500);
});
