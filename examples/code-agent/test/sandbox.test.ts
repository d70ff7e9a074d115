import { expect, test } from 'vitest';
import { QuickJsSandbox } from '../sandbox.ts';

const sandbox = new QuickJsSandbox();

test('a TypeScript program prints its result', async () => {
  const code = 'const add = (a: number, b: number): number => a + b;\nconsole.log(add(2, 3), "done");';
  expect(await sandbox.codeRun(code)).toEqual({ exitCode: 0, result: '5 done\n' });
});

test.each([
  ['throw new RangeError("too far")', 'RangeError: too far'],
  ['missing + 1', "ReferenceError: 'missing' is not defined"],
])('%s fails with its error', async (code, result) => {
  expect(await sandbox.codeRun(code)).toEqual({ exitCode: 1, result });
});

test('a syntax error is a result', async () => {
  const { exitCode, result } = await sandbox.codeRun('const = 1');
  expect([exitCode, result]).toEqual([1, expect.stringContaining('SyntaxError')]);
});

test.each(['while (true) {}', 'const all = []; for (;;) all.push(1);', 'const f = () => f(); f();'])(
  '%s is stopped',
  async (code) => {
    expect((await sandbox.codeRun(code)).exitCode).toBe(1);
    expect(await sandbox.codeRun('console.log(1)')).toEqual({ exitCode: 0, result: '1\n' });
  },
);

test.each(['fetch', 'process', 'require', 'setTimeout', 'XMLHttpRequest', 'WebSocket', 'Deno', 'std'])(
  'a program has no %s',
  async (name) => {
    expect(await sandbox.codeRun(`console.log(typeof ${name})`)).toEqual({ exitCode: 0, result: 'undefined\n' });
  },
);

test('modules cannot be imported', async () => {
  const { exitCode, result } = await sandbox.codeRun('import("node:fs").then(() => console.log("imported"))');
  expect([exitCode, result]).not.toEqual([0, 'imported\n']);
});

test('programs do not share state, and long output is cut', async () => {
  await sandbox.codeRun('globalThis.left = 1; Object.prototype.left = 1;');
  expect(await sandbox.codeRun('console.log(typeof left, ({}).left)')).toMatchObject({
    result: 'undefined undefined\n',
  });
  const { result } = await new QuickJsSandbox({ outputLength: 10 }).codeRun('console.log("x".repeat(99))');
  expect(result).toBe('x'.repeat(10));
});
