import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { readDataSet } from './data-set.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'agl-data-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function fileOf(text: string): string {
  const file = path.join(folder, 'tasks.jsonl');
  writeFileSync(file, text);
  return file;
}

async function contentOf(parts: AsyncIterable<Uint8Array>): Promise<string> {
  let text = '';
  for await (const part of parts) text += new TextDecoder().decode(part);
  return text;
}

const anything = { name: 'train', schema: null };

test('a list and a file with the same tasks have the same content, from any offset', async () => {
  const tasks = [{ question: 'a' }, { question: 'ö' }];
  const list = await readDataSet(tasks, anything);
  const file = await readDataSet(fileOf('\uFEFF{ "question": "a" }\n\n{"question":"ö"}'), anything);
  expect(file.digest).toBe(list.digest);
  const whole = await contentOf(list.parts(0));
  expect(whole).toBe('{"question":"a"}\n{"question":"ö"}\n');
  expect(Buffer.byteLength(whole)).toBe(list.totalBytes);
  expect(await contentOf(file.parts(5))).toBe(whole.slice(5));
  expect(await contentOf(file.parts(list.totalBytes))).toBe('');
});

test.each([
  ['a JSON array', '\n[\n  {"question": "a"},\n  {"question": "ö"}\n]\n'],
  ['UTF-16', Buffer.from('\uFEFF{"question":"a"}\r\n{"question":"ö"}\r\n', 'utf16le')],
  ['UTF-16, big-endian', Buffer.from('\uFEFF{"question":"a"}\n{"question":"ö"}\n', 'utf16le').swap16()],
  ['a JSON array in UTF-16', Buffer.from('\uFEFF[{"question":"a"},{"question":"ö"}]', 'utf16le')],
])('a file with %s has the same content as JSON lines', async (_, bytes) => {
  const file = fileOf('');
  writeFileSync(file, bytes);
  const set = await readDataSet(file, anything);
  expect(await contentOf(set.parts(0))).toBe('{"question":"a"}\n{"question":"ö"}\n');
});

test('a number that JavaScript does not represent is refused', async () => {
  await expect(readDataSet(fileOf('{"tweet":2512292042121000001}\n'), anything)).rejects.toMatchObject({
    code: 'TASK_FILE',
    message: expect.stringMatching(/tasks\.jsonl:1: the number 2512292042121000001/),
  });
  await expect(readDataSet(fileOf('{"a":1}\n{"a":1e400}\n'), anything)).rejects.toThrow(/:2: the number 1e400/);
  await expect(
    readDataSet(fileOf('{"tweet":"2512292042121000001","n":9007199254740991}\n'), anything),
  ).resolves.toBeDefined();
});

test('an iterable that can be read once has its content for the upload', async () => {
  function* tasks(): Generator<object> {
    yield { question: 'a' };
    yield { question: 'b' };
  }
  const { parts, totalBytes } = await readDataSet(tasks(), anything);
  expect(Buffer.byteLength(await contentOf(parts(0)))).toBe(totalBytes);
});

test('invalid lines are reported with file, line and field', async () => {
  const file = fileOf('{"question":"a"}\n{"question":1}\nno json\n[1]\n');
  const reading = readDataSet(file, { name: 'train', schema: z.object({ question: z.string() }) });
  await expect(reading).rejects.toMatchObject({
    code: 'TASK_FILE',
    remedy: expect.stringContaining('Nothing was uploaded'),
  });
  await expect(reading).rejects.toThrow(`${file}:2: field "question": Invalid input`);
  await expect(reading).rejects.toThrow(`${file}:3: `);
  await expect(reading).rejects.toThrow(`${file}:4: a task must be a JSON object`);
});

test('an empty list, a value that is not an object and a missing file are reported', async () => {
  await expect(readDataSet([], anything)).rejects.toThrow('train: has no task');
  await expect(readDataSet([{ a: 1 }, 2], anything)).rejects.toThrow('train task 1: a task must be a JSON object');
  await expect(readDataSet(path.join(folder, 'none.jsonl'), anything)).rejects.toThrow('none.jsonl cannot be read');
});
