// @module-tag long
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Trainer } from '@agentlightning/trainer';
import { afterAll, beforeAll, expect, test } from 'vitest';
import config from '../agl.config.ts';
import warmUp from '../warm-up.config.ts';

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'agl-spider-training-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const taskFile = (name: string): string => path.resolve(import.meta.dirname, `../tasks/${name}.jsonl`);

/** Three minutes on a free machine, more on a busy one. */
const timeoutMs = 1_800_000;

test(
  'the warm-up teaches queries, and reinforcement learning the functions and columns',
  async () => {
    await new Trainer({
      ...warmUp,
      tasks: { train: taskFile('demonstrations'), test: taskFile('test') },
      run: { ...warmUp.run, dataDir: folder },
      steps: 100,
    }).fit({ runId: 'warm-up' });
    const { before, after, isImproved } = await new Trainer({
      ...config,
      tasks: { train: taskFile('train'), test: taskFile('test') },
      run: { ...config.run, dataDir: folder },
      checkpoints: { from: 'warm-up@final' },
      steps: 10,
    }).fit();
    expect(after.reward).toBeGreaterThan(before.reward + 0.1);
    expect(isImproved).toBe(true);
  },
  timeoutMs,
);
