import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { type NumberedEvent, RunLog, type RunLogReader } from './run-log.ts';

async function eventsOf(reader: RunLogReader): Promise<readonly NumberedEvent[]> {
  const events: NumberedEvent[] = [];
  for await (const event of reader.read()) events.push(event);
  return events;
}

function newFile(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'agl-run-log-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return path.join(folder, 'events.jsonl');
}

test('a reader gets each event once, in order, over several pages of the file', async () => {
  const file = newFile();
  const log = new RunLog(file);
  const reader = log.reader(2);
  const numbers = async (): Promise<readonly number[]> => (await eventsOf(reader)).map(({ number }) => number);
  expect(await numbers()).toEqual([]);
  // Longer than a page, and with characters of several bytes.
  for (const length of [1, 2, 200_000, 3]) await log.append({ type: 'warning', message: 'ä'.repeat(length) });
  expect(await numbers()).toEqual([3, 4]);
  expect(await numbers()).toEqual([]);
  // Cut off when the server was killed.
  appendFileSync(file, '{"type":');
  expect(await numbers()).toEqual([]);
  appendFileSync(file, '\n');
  await log.append({ type: 'stopped', runId: 'run-1' });
  expect(await numbers()).toEqual([6]);
  const all = await eventsOf(new RunLog(file).reader(0));
  expect(all.map(({ number }) => number)).toEqual([1, 2, 3, 4, 6]);
  expect(all[2]?.event).toMatchObject({ message: 'ä'.repeat(200_000) });
});
