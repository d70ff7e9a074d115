import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { compare, measures } from '../report/held-out-measures.ts';
import { reportFolder } from '../report/read-results.ts';
import { reportText } from '../report/report-text.ts';

test('the tables of the report are those of its data', () => {
  const report = readFileSync(path.join(reportFolder, 'README.md'), 'utf8');
  expect(reportText(report)).toBe(report);
});

test('evaluations are compared by the means of the tasks that both have', () => {
  const before = new Map([
    ['a', [0, 1]],
    ['b', [0, 0]],
    ['only before', [1]],
  ]);
  const after = new Map([
    ['b', [1, 0.5]],
    ['a', [1]],
  ]);
  expect(compare(before, after, measures.reward).difference).toBeCloseTo((0.5 + 0.75) / 2, 12);
  expect(compare(before, after, measures.correct).difference).toBeCloseTo((0.5 + 0.5) / 2, 12);
});
