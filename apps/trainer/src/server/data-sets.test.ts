import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { ManualClock } from '@agentlightning/core/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { fingerprint } from '../run/run-shape.ts';
import { DataSets } from './data-sets.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'agl-data-sets-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const newDataSets = (maxBytes = 1e9): DataSets => new DataSets(folder, { clock: new ManualClock(), maxBytes });
const content = Buffer.from('{"question":"a"}\n{"question":"b"}\n');
const digest = createHash('sha256').update(content).digest('hex');
const part = (offset: number, end = content.byteLength) => ({
  offset,
  totalBytes: content.byteLength,
  content: [content.subarray(offset, end)],
});

test('two clients that upload the same data set at a time complete it once', async () => {
  const dataSets = newDataSets();
  const uploads = await Promise.allSettled([
    dataSets.append(digest, part(0, 10)),
    dataSets.append(digest, part(0, 10)),
    dataSets.append(digest, part(10)),
    dataSets.append(digest, part(10)),
  ]);
  expect(uploads.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled']);
  expect(uploads[1]).toMatchObject({ reason: { code: 'CONFLICT', details: { bytes: 10 } } });
  expect(readFileSync(await dataSets.file(digest))).toEqual(content);
});

test('content with another digest is discarded', async () => {
  const dataSets = newDataSets();
  const other = createHash('sha256').update('other').digest('hex');
  await expect(dataSets.append(other, part(0))).rejects.toMatchObject({ code: 'VALIDATION' });
  expect(await dataSets.state(other)).toEqual({ bytes: 0, isComplete: false });
  await expect(dataSets.file(other)).rejects.toMatchObject({ code: 'NOT_FOUND' });
});

/** Uploads content as one part. */
function upload(dataSets: DataSets, text: string): { readonly id: string; readonly done: Promise<unknown> } {
  const bytes = Buffer.from(text);
  const id = createHash('sha256').update(bytes).digest('hex');
  return { id, done: dataSets.append(id, { offset: 0, totalBytes: bytes.byteLength, content: [bytes] }) };
}

test('the fingerprint is that of the tasks in a run, also for a data set of an earlier process', async () => {
  const tasks = [
    { question: 'ä', n: 1e3 },
    { list: [1, 2], nested: { a: null } },
  ];
  const { id, done } = upload(newDataSets(), `\uFEFF{"question":"ä","n":1e3}\r\n\n${JSON.stringify(tasks[1])}`);
  await done;
  expect(await newDataSets().fingerprint(id)).toBe(fingerprint(tasks));
});

test.each([
  ['{"a":1}\n[]\n', 'line 2 of the data set is not a JSON object'],
  ['{"a":1e999}\n', 'line 1 of the data set: field "a" is Infinity'],
  [`{"a":"${'x'.repeat(17_000_000)}"}`, 'line 1 of the data set is longer than 16777216 bytes'],
  [`{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`, 'the data set cannot be read'],
  ['\n\n', 'the data set has no task'],
])('a data set with a wrong line is rejected: case %#', async (text, message) => {
  const { done } = upload(newDataSets(), text);
  await expect(done).rejects.toMatchObject({ code: 'TASK_FILE', message: expect.stringContaining(message) });
});

test('a large data set is checked without blocking the server', async () => {
  const line = `${JSON.stringify({ question: 'What is it?', list: Array.from({ length: 200 }, (_, index) => index) })}\n`;
  const { done } = upload(newDataSets(), line.repeat(40_000));
  const delays = monitorEventLoopDelay({ resolution: 5 });
  delays.enable();
  await done;
  // A check in this thread takes more than a second.
  expect(delays.max / 1e6).toBeLessThan(400);
});

test('content beyond the declared size is not kept', async () => {
  const dataSets = newDataSets();
  await expect(dataSets.append(digest, { ...part(0), totalBytes: 10 })).rejects.toMatchObject({ code: 'VALIDATION' });
  expect(await dataSets.state(digest)).toEqual({ bytes: 0, isComplete: false });
});

test('an upload that was not continued for a day is removed with the next upload', async () => {
  const clock = new ManualClock();
  const dataSets = new DataSets(folder, { clock });
  await dataSets.append(digest, part(0, 10));
  const { id, done } = upload(dataSets, '{"a":1}');
  await done;
  expect(await dataSets.state(digest)).toEqual({ bytes: 10, isComplete: false });
  const old = (clock.now() - 25 * 3_600_000) / 1000;
  await utimes(path.join(folder, `${digest}.jsonl.part`), old, old);
  await utimes(path.join(folder, `${id}.jsonl`), old, old);
  await clock.advance(3_600_000);
  await upload(dataSets, '{"a":2}').done;
  expect(await dataSets.state(digest)).toEqual({ bytes: 0, isComplete: false });
  expect(await dataSets.state(id)).toEqual({ bytes: 7, isComplete: true });
});

test('the data sets of a project have a limit', async () => {
  const dataSets = newDataSets(20);
  await upload(dataSets, '{"a":1}').done;
  await expect(dataSets.append(digest, part(0))).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' });
  await upload(dataSets, '{"a":2}').done;
});
