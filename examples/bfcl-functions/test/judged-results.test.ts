import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { reportFile, withResults } from '../judged/results.ts';

test('the table of the report is that of the data', () => {
  const report = readFileSync(reportFile, 'utf8');
  expect(report).toContain('| ruler | 0.');
  expect(withResults(report)).toBe(report);
});
