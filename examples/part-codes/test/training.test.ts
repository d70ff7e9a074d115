// @module-tag long
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Trainer } from '@agentlightning/trainer';
import { afterAll, beforeAll, expect, test } from 'vitest';
import byReward from '../grpo.config.ts';
import config from '../sdpo.config.ts';

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'agl-part-codes-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Two minutes on a free machine, more on a busy one. */
const timeoutMs = 900_000;

const trained = (settings: typeof config, name: string) =>
  new Trainer({ ...settings, run: { ...settings.run, dataDir: path.join(folder, name), seed: 1 } }).fit();

test('self-distillation learns the codes from feedback', { timeout: timeoutMs }, async () => {
  const { before, after, isImproved } = await trained(config, 'sdpo');
  expect(before.reward).toBe(0);
  expect(after.reward).toBeGreaterThan(0.8);
  expect(isImproved).toBe(true);
});

test('the reward alone teaches nothing', { timeout: timeoutMs }, async () => {
  const { after } = await trained(byReward, 'grpo');
  expect(after.reward).toBeLessThan(0.05);
});
