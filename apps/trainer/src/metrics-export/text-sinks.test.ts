import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Run } from '@agentlightning/core';
import { expect, test } from 'vitest';
import { csvSink } from './text-sinks.ts';

test.each([
  { name: '=1+1', cell: "'=1+1" },
  { name: '+1', cell: "'+1" },
  { name: '-1', cell: "'-1" },
  { name: '@SUM(A1)', cell: "'@SUM(A1)" },
  { name: '\t=1', cell: "'\t=1" },
  { name: '\r=1', cell: '"\'\r=1"' },
  { name: '\n=1', cell: '"\'\n=1"' },
  { name: '=HYPERLINK("http://x","y")', cell: '"\'=HYPERLINK(""http://x"",""y"")"' },
  { name: 'a,b', cell: '"a,b"' },
  { name: 'reward/mean', cell: 'reward/mean' },
])('the metric $name is one cell and no formula of a spreadsheet', async ({ name, cell }) => {
  const folder = await mkdtemp(path.join(tmpdir(), 'agl-csv-'));
  const file = path.join(folder, 'metrics.csv');
  const sink = csvSink(file);
  await sink.write([{ runId: 'run-1', step: 1, timeMs: 0, values: { [name]: -2 } }]);
  await sink.close({} as Run);
  expect(await readFile(file, 'utf8')).toBe(`step,time,${cell}\n1,1970-01-01T00:00:00.000Z,-2\n`);
  await rm(folder, { recursive: true });
});
