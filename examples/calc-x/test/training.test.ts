// @module-tag long
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Trainer } from '@agentlightning/trainer';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { closeCalculator } from '../agent.ts';
import config from '../agl.config.ts';
import warmUp from '../warm-up.config.ts';

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'agl-calc-x-'));
});
afterAll(async () => {
  await closeCalculator();
  rmSync(folder, { recursive: true, force: true });
});

const taskFile = (name: string): string => path.resolve(import.meta.dirname, `../tasks/${name}.jsonl`);

/** Three minutes on a free machine, more on a busy one. */
const timeoutMs = 1_800_000;

test(
  'the warm-up teaches the calculator, and reinforcement learning the operations',
  async () => {
    const shared = { evaluation: { tasks: 96 }, run: { dataDir: folder } };
    const { before, after } = await new Trainer({
      ...warmUp,
      ...shared,
      tasks: { train: taskFile('demonstrations'), test: taskFile('test') },
      steps: 70,
    }).fit({ runId: 'warm-up' });
    expect(before.reward).toBeLessThan(0.05);
    expect(after.reward).toBeGreaterThan(before.reward);

    const trained = await new Trainer({
      ...config,
      ...shared,
      tasks: { train: taskFile('train'), test: taskFile('test') },
      checkpoints: { from: 'warm-up@final' },
      steps: 15,
    }).fit();
    expect(trained.after.reward).toBeGreaterThan(trained.before.reward + 0.1);
    expect(trained.isImproved).toBe(true);
  },
  timeoutMs,
);
