// @module-tag long
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Trainer } from '@agentlightning/trainer';
import { afterAll, beforeAll, expect, test } from 'vitest';
import config from '../agl.config.ts';

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'agl-memory-training-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const taskFile = (name: string): string => path.resolve(import.meta.dirname, `../tasks/${name}.jsonl`);

/** Two minutes on a free machine, more on a busy one. */
const timeoutMs = 1_800_000;

test(
  'reinforcement learning teaches to file orders only, and to report from the memory',
  async () => {
    const trainer = new Trainer({
      ...config,
      tasks: { train: taskFile('train'), test: taskFile('test') },
      run: { ...config.run, dataDir: folder },
      steps: 20,
      evaluation: {},
    });
    const { before, after, isImproved } = await trainer.fit();
    expect(after.reward).toBeGreaterThan(before.reward + 0.2);
    expect(isImproved).toBe(true);
  },
  timeoutMs,
);
