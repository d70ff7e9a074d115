import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { readmeFile, withSeedTable } from '../seed-table.ts';

test('the table of the README is that of the data', () => {
  const readme = readFileSync(readmeFile, 'utf8');
  expect(readme).toContain('| Seed |');
  expect(withSeedTable(readme)).toBe(readme);
});
