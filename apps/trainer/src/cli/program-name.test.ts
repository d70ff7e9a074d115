import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { programName, withProgramName } from './program-name.ts';

const fetched = '/home/ada/.npm/_npx/0f1e/node_modules/.bin/agentlightning';
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'agentlightning-'));
  await mkdir(path.join(folder, 'project/node_modules/.bin'), { recursive: true });
  await writeFile(path.join(folder, 'project/node_modules/.bin/agl'), '');
});

afterAll(async () => await rm(folder, { recursive: true, force: true }));

beforeEach(() => void vi.stubEnv('AGL_COMMAND', ''));

afterEach(() => void vi.unstubAllEnvs());

test('a program of the project is called with npx, a global one by its name', () => {
  expect(programName('/srv/shop/node_modules/.bin/agl', '/srv/shop')).toBe('npx agl');
  expect(programName('/srv/shop/node_modules/.bin/agl', '/srv/shop/packages/agent')).toBe('npx agl');
  expect(programName('/usr/local/bin/agl', '/srv/shop')).toBe('agl');
  expect(programName('/usr/local/lib/node_modules/agentlightning/dist/main.js', '/srv/shop')).toBe('agl');
});

test('a fetched program is called by the name of its package, unless the project has the command', () => {
  expect(programName(fetched, folder)).toBe('npx agentlightning');
  expect(programName('/home/ada/.cache/pnpm/dlx/4a/node_modules/agentlightning/dist/main.js', folder)).toBe(
    'npx agentlightning',
  );
  expect(programName(fetched, path.join(folder, 'project'))).toBe('npx agl');
  expect(programName(fetched, path.join(folder, 'project/src'))).toBe('npx agl');
});

test('AGL_COMMAND names the program', () => {
  vi.stubEnv('AGL_COMMAND', 'pnpm agl');
  expect(programName('/usr/local/bin/agl')).toBe('pnpm agl');
});

test('commands in a remedy have the name under which they can be run', () => {
  const remedy = 'Run agl init, or `agl dev --tasks 8`. The store is .agl next to npx agl train.';
  expect(withProgramName(remedy, 'npx agentlightning')).toBe(
    'Run npx agentlightning init, or `npx agentlightning dev --tasks 8`. The store is .agl next to npx agl train.',
  );
});

test('a command that already has the name stays', () => {
  const remedy = 'Resume with: npx -y pnpm@12 agl train --resume run-1, or list runs with agl runs.';
  expect(withProgramName(remedy, 'npx -y pnpm@12 agl')).toBe(
    'Resume with: npx -y pnpm@12 agl train --resume run-1, or list runs with npx -y pnpm@12 agl runs.',
  );
  expect(withProgramName('Run agl dev.', 'agl')).toBe('Run agl dev.');
});
