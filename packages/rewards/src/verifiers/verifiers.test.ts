import { AgentLightningError } from '@agentlightning/core';
import type { ReasonedScore } from '@agentlightning/core/algorithm';
import { expect, test } from 'vitest';
import { z } from 'zod';
import type { ScoredPart } from '../base/part.ts';
import { codeTests } from './code-tests.ts';
import { exact } from './exact.ts';
import { functionCall } from './function-call.ts';
import { jsonSchema } from './json-schema.ts';
import { numeric } from './numeric.ts';
import { sqlResult } from './sql-result.ts';
import { citations, length, oneOf, pattern, repetition } from './text-verifiers.ts';

/** The scores of a part for outputs. */
async function scores<TTask>(
  part: ScoredPart<TTask, unknown>,
  task: TTask,
  outputs: readonly unknown[],
): Promise<readonly ReasonedScore['score'][]> {
  return Promise.all(outputs.map(async (output) => (await part.score({ task, output })).score));
}

test('exact ignores case and whitespace by default', async () => {
  const task = { answer: 'Paris' };
  const answer = (each: typeof task): string => each.answer;
  expect(await scores(exact(answer), task, ['paris ', 'Ｐaris', 'Lyon', null, { text: 'Paris' }])).toEqual([
    1, 1, 0, 0, 1,
  ]);
  expect(await scores(exact(answer, { caseSensitive: true, normalize: false }), task, ['paris', 'Ｐaris'])).toEqual([
    0, 0,
  ]);
  const field = exact<typeof task, { city: string }>(answer, { output: ({ city }) => city, weight: 2 });
  expect(await field.score({ task, output: { city: 'Rome' } })).toEqual({
    score: 0,
    reason: 'expected "Paris", got "Rome"',
  });
  expect(field.weight).toBe(2);
});

test('numeric reads numbers of texts, with tolerances and units', async () => {
  const part = numeric((task: { total: number }) => task.total);
  expect(
    await scores(part, { total: 1234.5 }, ['3 items: $1,234.50', 1234.5, '1.2345e3', '1234.6', 'none', '']),
  ).toEqual([1, 1, 1, 0, 0, 0]);
  expect(await scores(part, { total: -5 }, ['it is \u22125.', '5', 'x = -5.0'])).toEqual([1, 0, 1]);
  const loose = numeric(() => 100, { absolute: 1, relative: 0.02, pick: 'first' });
  expect(await scores(loose, {}, ['102 of 7', '97', '98.1'])).toEqual([1, 0, 1]);
  const speed = numeric((task: { speed: string }) => task.speed, { unit: 'km/h' });
  expect(
    await scores(speed, { speed: '90 km/h' }, ['25 m/s', '90 km/h', '90', '90 kg', 'about 90 km/h today']),
  ).toEqual([1, 1, 0, 0, 1]);
  expect(() => numeric(() => 1, { absolute: -1 })).toThrow(/absolute.*-1/);
});

test('oneOf and pattern', async () => {
  expect(await scores(oneOf(['yes', 'no']), {}, ['YES', 'maybe', ''])).toEqual([1, 0, 0]);
  const part = pattern(/^\d+$/g);
  // A global expression has a state between calls, which does not count.
  expect(await scores(part, {}, ['12', '12', 'x12'])).toEqual([1, 1, 0]);
});

test('jsonSchema checks JSON texts and fenced blocks by zod and by JSON Schema', async () => {
  const outputs = ['{"n": 1}', 'Here:\n```json\n{"n": 2}\n```', '{"n": "1"}', '{', { n: 3 }, ''];
  const expected = [1, 1, 0, 0, 1, 0];
  expect(await scores(jsonSchema(z.object({ n: z.number() })), {}, outputs)).toEqual(expected);
  const schema = { type: 'object', required: ['n'], properties: { n: { type: 'number' } } };
  expect(await scores(jsonSchema(schema), {}, outputs)).toEqual(expected);
  const recent = { ...schema, $schema: 'https://json-schema.org/draft/2020-12/schema' };
  expect(await scores(jsonSchema(recent), {}, outputs)).toEqual(expected);
  expect(await jsonSchema(schema).score({ task: {}, output: '{}' })).toMatchObject({ reason: /required.*'n'/ });
});

test('a schema that is not a schema is a configuration error', async () => {
  for (const schema of [null, 'string', 3, []]) {
    expect(() => jsonSchema(schema as unknown as object as Record<string, unknown>)).toThrow(/Not a schema/);
  }
  const invalid = jsonSchema({ type: 'strnig' });
  const error: unknown = await invalid.score({ task: {}, output: '{}' }).catch((thrown: unknown) => thrown);
  expect(AgentLightningError.isInstance(error) && error.code).toBe('CONFIG');
});

test('functionCall compares by value, with optional arguments and calls in any order', async () => {
  const weather = {
    name: 'get.weather',
    arguments: { city: ['Paris', 'Paris, France'], days: [3], unit: ['celsius', ''] },
  };
  const call = (args: object, name = 'get_weather'): object => ({ name, arguments: args });
  const part = functionCall(() => weather);
  expect(
    await scores(part, {}, [
      call({ city: 'paris', days: 3 }),
      { function: { name: 'get_weather', arguments: '{"city":"Paris France","days":3.0,"unit":"Celsius"}' } },
      [{ toolName: 'get_weather', input: { city: 'Paris', days: 3 } }],
      '{"tool_calls":[{"function":{"name":"get_weather","arguments":"{\\"city\\":\\"Paris\\",\\"days\\":3}"}}]}',
    ]),
  ).toEqual([1, 1, 1, 1]);
  expect(
    await scores(part, {}, [
      call({ city: 'Rome', days: 3 }),
      call({ city: 'Paris' }),
      call({ city: 'Paris', days: '3' }),
      call({ city: 'Paris', days: 3, extra: 1 }),
      call({ city: 'Paris', days: 3 }, 'other'),
      [call({ city: 'Paris', days: 3 }), call({ city: 'Paris', days: 3 })],
      'I do not know.',
    ]),
  ).toEqual([0, 0, 0, 0, 0, 0, 0]);
  const two = functionCall(() => [
    { name: 'a', arguments: { list: [[1, 'x y']] } },
    { name: 'b', arguments: { filter: [{ size: [1, 2], color: ['red', ''] }] } },
  ]);
  const [a, b] = [call({ list: [1, 'X-Y'] }, 'a'), call({ filter: { size: 2 } }, 'b')];
  expect(
    await scores(two, {}, [
      [a, b],
      [b, a],
      [a, a],
      [a, call({ filter: { size: 3 } }, 'b')],
    ]),
  ).toEqual([1, 1, 0, 0]);
  expect(
    await scores(
      functionCall(() => []),
      {},
      ['No tool fits.', [], [a]],
    ),
  ).toEqual([1, 1, 0]);
});

test('sqlResult compares result sets, and ends queries that do not', async () => {
  const base = { setup: () => 'CREATE TABLE t (a, b); INSERT INTO t VALUES (1, 2.0), (3, 4), (3, 4);' };
  const unordered = sqlResult({ ...base, reference: () => 'SELECT a, b FROM t' });
  expect(
    await scores(unordered, {}, [
      '```sql\nSELECT a AS x, b FROM t ORDER BY a DESC\n```',
      'SELECT DISTINCT a, b FROM t',
      'SELECT a FROM t',
      'SELEC',
      '',
      "ATTACH '/tmp/other.db' AS other",
    ]),
  ).toEqual([1, 0, 0, 0, 0, 0]);
  const ordered = sqlResult({ ...base, reference: () => 'SELECT a FROM t ORDER BY a' });
  expect(await scores(ordered, {}, ['SELECT a FROM t ORDER BY a', 'SELECT a FROM t ORDER BY a DESC'])).toEqual([1, 0]);
  const endless = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT count(*) FROM n';
  const limited = sqlResult({ ...base, reference: () => 'SELECT 1', timeoutMs: 3000 });
  expect(await limited.score({ task: {}, output: endless })).toMatchObject({ score: 0, reason: /within 3000 ms/ });
  await expect(sqlResult({ ...base, reference: () => 'SELECT x' }).score({ task: {}, output: '' })).rejects.toThrow(
    /reference query/,
  );
});

test('codeTests runs code without files, network, environment and forged results', async () => {
  const part = codeTests({ tests: () => ['assert.equal(add(1, 2), 3)', 'assert.equal(add(2, 2), 4)'] });
  const add = 'export const add = (a, b) => a + b;';
  expect(
    await scores(part, {}, [
      add,
      `Sure:\n\`\`\`js\n${add}\n\`\`\``,
      'const add = () => 3;',
      'process.exit(0);',
      'const add = ; ',
      `${add} import { readFileSync } from 'node:fs'; readFileSync('/etc/hostname');`,
      `${add} import 'node:net';`,
      `${add} process.getBuiltinModule("http").request;`,
      `${add} await fetch('http://127.0.0.1');`,
      `${add} import { spawnSync } from 'node:child_process'; const { error } = spawnSync('true'); if (error) throw error;`,
      `${add} if (Object.keys(process.env).length === 0) throw new Error('no environment');`,
      `console.log('[null,null]'); JSON.stringify = () => '[null,null]'; process.stdout.write = () => true;`,
      `import fs from 'node:fs'; import { syncBuiltinESMExports } from 'node:module'; fs.writeSync = () => 0; syncBuiltinESMExports();`,
      `import fs from 'node:fs'; const { writeSync } = fs; fs.writeSync = (fd, text) => writeSync(fd, text.replace(/"[^"]*"/g, 'null'));`,
      `import { registerHooks } from 'node:module'; registerHooks({ load: () => ({ format: 'module', source: '', shortCircuit: true }) });`,
      `import assert from 'node:assert/strict'; assert.equal = () => undefined; const add = () => 0;`,
      'const assert = { equal: () => undefined }; const add = () => 0;',
      'const text = `',
    ]),
  ).toEqual([1, 1, ...Array.from({ length: 16 }, () => 0)]);
});

test('codeTests limits time and memory, reads TypeScript and gives shares', async () => {
  const tests = (): readonly string[] => ['assert.equal(f(), 1)', 'assert.equal(f(), 2)'];
  const part = codeTests({ tests, partial: true, language: 'typescript' });
  expect(await part.score({ task: {}, output: 'const f = (): number => 1;' })).toMatchObject({ score: 0.5 });
  const endless = codeTests({ tests, timeoutMs: 1000 });
  expect(await endless.score({ task: {}, output: 'for (;;);' })).toMatchObject({ score: 0, reason: /within 1000 ms/ });
  const large = codeTests({ tests, memoryMb: 32, timeoutMs: 25_000 });
  const { reason } = await large.score({ task: {}, output: 'const a = []; for (;;) a.push(new Array(1e5).fill({}));' });
  expect(reason).toMatch(/32 MB/);
  const elsewhere = codeTests({ tests, sandbox: async (job) => job.tests.map(() => null) });
  expect(await elsewhere.score({ task: {}, output: '' })).toMatchObject({ score: 1 });
});

test('citations occur in the sources', async () => {
  const part = citations({ sources: () => ({ d1: 'The cat sat on the mat all day.', d2: 'Dogs bark at night.' }) });
  expect(
    await scores(part, {}, [
      'It says "sat on the mat all day" [d1].',
      'It says \u201cthe dog sat on the mat\u201d [d2].',
      'See [d1, d9].',
      'No citation.',
    ]),
  ).toEqual([1, 0.5, 0.5, 0]);
});

test('length and repetition have bounds', async () => {
  expect(await scores(length({ min: 2, max: 3 }), {}, ['a', 'ab', '😀😀😀', 'abcd'])).toEqual([0, 1, 1, 0]);
  expect(await scores(length({ max: 2, unit: 'words' }), {}, ['one two', 'one two three'])).toEqual([1, 0]);
  expect(() => length({})).toThrow(/`max`.*undefined/);
  expect(() => length({ max: 1, range: [1, 0] })).toThrow(/range/);
  const [once, loop] = await scores(repetition(), {}, ['The quick brown fox jumps.', 'and so on '.repeat(20)]);
  expect(once).toBe(1);
  expect(loop).toBeLessThan(0.1);
});
