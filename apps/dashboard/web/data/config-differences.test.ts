import { expect, test } from 'vitest';
import { configDifferences } from './config-differences.ts';

test('differences are listed by setting, with the absent ones', () => {
  const config = { steps: 10, algorithm: { type: 'grpo', groupSize: 8 }, tasks: [1, 2], seed: 1, extra: {} };
  const other = { steps: 10, algorithm: { type: 'grpo', groupSize: 4, epochs: 2 }, tasks: [1], extra: {} };
  expect(configDifferences([config, other])).toEqual([
    { path: 'algorithm.epochs', values: [null, '2'] },
    { path: 'algorithm.groupSize', values: ['8', '4'] },
    { path: 'seed', values: ['1', null] },
    { path: 'tasks', values: ['[1,2]', '[1]'] },
  ]);
  expect(configDifferences([config, config, config])).toEqual([]);
});
