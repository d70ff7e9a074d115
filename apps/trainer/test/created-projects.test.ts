import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { loadConfig } from '../src/config/load-config.ts';

const create = path.resolve(import.meta.dirname, '../../../packages/create-agentlightning/src/main.ts');

let folder = '';
beforeEach(() => {
  // Within the package, whose dependencies the project imports.
  folder = mkdtempSync(path.join(import.meta.dirname, 'fixtures', 'created-'));
  vi.stubEnv('OPENAI_API_KEY', 'sk-test');
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

test.each(['rl', 'judge', 'prompt', 'sft'])('the configuration of a new project for %s is valid', async (goal) => {
  const args = [create, 'my-agent', '--framework', 'fetch', '--goal', goal, '--no-install'];
  const { status, stderr } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' });
  expect({ status, stderr }).toMatchObject({ status: 0 });
  const config = await loadConfig(path.join(folder, 'my-agent/agl.config.ts'));
  expect('shared' in config ? config.shared.name : config.name).toBe('my-agent');
});
