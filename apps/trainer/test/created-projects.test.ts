import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type Goal, goals } from '../../../packages/create-agentlightning/src/goals.ts';
import { projectFiles } from '../../../packages/create-agentlightning/src/project-files.ts';
import { loadConfig } from '../src/config/load-config.ts';

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

test.each(Object.keys(goals) as Goal[])('the configuration of a new project for %s is valid', async (goal) => {
  for (const [name, text] of Object.entries(projectFiles({ name: 'my-agent', framework: 'fetch', goal }))) {
    const file = path.join(folder, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  const config = await loadConfig(path.join(folder, 'agl.config.ts'));
  expect('shared' in config ? config.shared.name : config.name).toBe('my-agent');
});
