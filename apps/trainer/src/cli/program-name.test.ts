import path from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { programName } from './program-name.ts';

afterEach(() => vi.unstubAllEnvs());

test('a program of the project is called with npx, a global one by its name', () => {
  vi.stubEnv('AGL_COMMAND', '');
  expect(programName(path.resolve('node_modules/.bin/agl'))).toBe('npx agl');
  expect(programName('/usr/local/bin/agl')).toBe('agl');
});

test('AGL_COMMAND names the program', () => {
  vi.stubEnv('AGL_COMMAND', 'pnpm agl');
  expect(programName('/usr/local/bin/agl')).toBe('pnpm agl');
});
