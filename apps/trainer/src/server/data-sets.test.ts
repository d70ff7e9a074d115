import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { DataSets } from './data-sets.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'agl-data-sets-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const content = Buffer.from('{"question":"a"}\n{"question":"b"}\n');
const digest = createHash('sha256').update(content).digest('hex');
const part = (offset: number, end = content.byteLength) => ({
  offset,
  totalBytes: content.byteLength,
  content: content.subarray(offset, end),
});

test('two clients that upload the same data set at a time complete it once', async () => {
  const dataSets = new DataSets(folder);
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
  const dataSets = new DataSets(folder);
  const other = createHash('sha256').update('other').digest('hex');
  await expect(dataSets.append(other, part(0))).rejects.toMatchObject({ code: 'VALIDATION' });
  expect(await dataSets.state(other)).toEqual({ bytes: 0, isComplete: false });
  await expect(dataSets.file(other)).rejects.toMatchObject({ code: 'NOT_FOUND' });
});
