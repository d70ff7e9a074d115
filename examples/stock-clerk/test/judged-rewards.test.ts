import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { reportFile, withResults } from '../judged-rewards.ts';
import { criteriaMet } from '../scripted-judge.ts';

test('the tables of the report are those of the data', () => {
  const report = readFileSync(reportFile, 'utf8');
  expect(report).toContain('| ruler |');
  expect(withResults(report)).toBe(report);
});

test('a rollout meets all criteria only with each part of the route, in order, and the count', () => {
  const task = { question: '', shelf: {}, route: ['A1', 'B2'], answer: '17' };
  const metBy = (lookedUp: readonly string[], answer: string): number =>
    Object.values(criteriaMet(task, { lookedUp, answer })).filter(Boolean).length;
  expect([metBy(['A1', 'B2'], '17'), metBy(['B2', 'A1'], '17'), metBy(['A1'], 'is B2 now'), metBy([], '')]).toEqual([
    4, 2, 1, 0,
  ]);
});
