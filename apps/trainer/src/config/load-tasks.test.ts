import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { loadTasks } from './load-tasks.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'agl-tasks-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function taskFile(text: string): string {
  const file = path.join(folder, 'tasks.jsonl');
  writeFileSync(file, text);
  return file;
}

test('reads one task a line and skips blank lines', async () => {
  expect(await loadTasks(taskFile('{"a":1}\n\n{"a":2}\n'), null)).toEqual([{ a: 1 }, { a: 2 }]);
});

test.each([
  ['a JSON array', '[\n  {"a": 1},\n  {"a": 2}\n]\n'],
  ['UTF-16', Buffer.from('\uFEFF{"a":1}\r\n{"a":2}\r\n', 'utf16le')],
  ['UTF-16, big-endian', Buffer.from('\uFEFF{"a":1}\n{"a":2}', 'utf16le').swap16()],
])('reads a file with %s', async (_, bytes) => {
  const file = path.join(folder, 'tasks.jsonl');
  writeFileSync(file, bytes);
  expect(await loadTasks(file, null)).toEqual([{ a: 1 }, { a: 2 }]);
});

test('refuses a number that agents would receive as another one, and other encodings', async () => {
  await expect(loadTasks(taskFile('{"id":1}\n{"id":2512292042121000001}\n'), null)).rejects.toMatchObject({
    code: 'TASK_FILE',
    message: expect.stringMatching(/tasks\.jsonl:2: the number 2512292042121000001/),
    remedy: expect.stringContaining('"2512292042121000001"'),
  });
  await expect(loadTasks(taskFile('{"id":1}\n{"limit":1e400}\n'), null)).rejects.toThrow(
    /tasks\.jsonl:2: the number 1e400/,
  );
  await expect(loadTasks(taskFile('[\n{"id":1},\n{"limit":-1e999}\n]'), null)).rejects.toThrow(/:3: the number -1e999/);
  expect(await loadTasks(taskFile('{"id":"2512292042121000001","x":0.12345678901234567,"n":1e20}'), null)).toHaveLength(
    1,
  );
  writeFileSync(path.join(folder, 'latin.jsonl'), Buffer.from([0x7b, 0xe9, 0x7d]));
  await expect(loadTasks(path.join(folder, 'latin.jsonl'), null)).rejects.toThrow(/neither UTF-8 nor UTF-16/);
});

test('names file and line of what is not JSON', async () => {
  await expect(loadTasks(taskFile('{"a":1}\n{"a":\n'), null)).rejects.toThrow(/tasks\.jsonl:2: not JSON/);
});

test('names file, line and field of what has the wrong shape', async () => {
  const schema = z.object({ question: z.string() });
  const file = taskFile('{"question":"x"}\n{"question":7}\n');
  await expect(loadTasks(file, schema)).rejects.toMatchObject({
    code: 'TASK_FILE',
    message: expect.stringMatching(/tasks\.jsonl:2: field "question"/),
  });
});

test('reports every wrong line and field at once, up to a limit', async () => {
  const schema = z.object({ question: z.string(), answer: z.string() });
  const file = taskFile('{"question":7}\n{"question":"x","answer":"y"}\n{"a":\n');
  await expect(loadTasks(file, schema)).rejects.toMatchObject({
    code: 'TASK_FILE',
    message: expect.stringMatching(/:1: field "question".*field "answer".*tasks\.jsonl:3: not JSON/),
  });
  const many = loadTasks(taskFile('[]\n'.repeat(1000)), null);
  await expect(many).rejects.toMatchObject({ message: expect.stringMatching(/:20: a task must be(?![\s\S]*:21:)/) });
});

test('refuses a file without tasks, a missing file, and a task that is not an object', async () => {
  await expect(loadTasks(taskFile('\n'), null)).rejects.toThrow(/has no task/);
  await expect(loadTasks(path.join(folder, 'missing.jsonl'), null)).rejects.toMatchObject({
    message: expect.stringMatching(/missing\.jsonl cannot be read: ENOENT/),
    remedy: expect.stringMatching(/the path of the task file/),
  });
  await expect(loadTasks(folder, null)).rejects.toThrow(/cannot be read: EISDIR/);
  await expect(loadTasks([[1]], null)).rejects.toThrow(/task 0: a task must be a JSON object/);
});

test('refuses tasks that would come to the agent as something else, also what a schema made of them', async () => {
  await expect(loadTasks([{ a: 1 }, { n: 10n }], null)).rejects.toMatchObject({
    code: 'TASK_FILE',
    message: expect.stringMatching(/task 1: field "n" is a bigint, and a task must be JSON/),
  });
  const schema = z.object({ due: z.coerce.date() });
  await expect(loadTasks(taskFile('{"due":"2026-01-01"}\n'), schema)).rejects.toThrow(
    /tasks\.jsonl:1: field "due" is a Date/,
  );
});

test('reads a file that begins with a byte order mark', async () => {
  expect(await loadTasks(taskFile('\uFEFF{"a":1}\r\n{"a":2}\r\n'), null)).toEqual([{ a: 1 }, { a: 2 }]);
});
