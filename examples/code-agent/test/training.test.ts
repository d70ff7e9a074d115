// @module-tag long
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Trainer } from '@agentlightning/trainer';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { CodeTask } from '../agent.ts';
import config from '../agl.config.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'agl-example-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const taskFile = (name: string): string => path.resolve(import.meta.dirname, `../tasks/${name}.jsonl`);

/** A minute on a free machine, more on a busy one. */
const timeoutMs = 900_000;

test(
  'reinforcement learning teaches to write programs that pass, which the start model never does',
  async () => {
    const trainer = new Trainer<CodeTask>({
      ...config,
      tasks: { train: taskFile('train'), test: taskFile('test') },
      run: { ...config.run, dataDir: folder },
      steps: 40,
      evaluation: { every: 40 },
    });
    const { before, after, isImproved } = await trainer.fit();
    expect(before.reward).toBeLessThan(0.02);
    expect(after.reward).toBeGreaterThan(0.05);
    expect(isImproved).toBe(true);
  },
  timeoutMs,
);
