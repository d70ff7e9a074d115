import { expect, test } from 'vitest';
import { duplicates } from './duplicates.ts';

test('duplicates is the share of other siblings with the same output', async () => {
  const part = duplicates();
  const siblings = ['Paris', ' paris', 'Rome'].map((output) => ({ task: {}, output }));
  expect((await part.scoreGroup(siblings)).map(({ score }) => score)).toEqual([0.5, 0.5, 0]);
  expect(await part.scoreGroup(siblings.slice(0, 1))).toEqual([
    { score: 0, reason: '0 siblings have the same output' },
  ]);
  // A reward for duplicates would be a mistake: the weight is a penalty unless another is given.
  expect(part.weight).toBe(-0.1);
  expect(duplicates({ weight: -1 }).weight).toBe(-1);
});
