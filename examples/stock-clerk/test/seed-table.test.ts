import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { reportFile, withSeedTable } from '../seed-table.ts';

test('the table of the report is that of the data', () => {
  const report = readFileSync(reportFile, 'utf8');
  expect(report).toContain('| Seed |');
  expect(withSeedTable(report)).toBe(report);
});
