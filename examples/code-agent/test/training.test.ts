// @module-tag long
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TrainConfig, Trainer } from '@agentlightning/trainer';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { CodeTask } from '../agent.ts';
import warmup from '../warmup.config.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'agl-example-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const taskFile = (name: string): string => path.resolve(import.meta.dirname, `../tasks/${name}.jsonl`);

/** Two minutes on a free machine, more on a busy one. */
const timeoutMs = 900_000;

/** A trainer of a configuration on this test's folder. */
function trainerOf(given: TrainConfig<CodeTask>, changes: Partial<TrainConfig<CodeTask>>): Trainer<CodeTask> {
  const tasks = { train: taskFile('train'), test: taskFile('test') };
  return new Trainer<CodeTask>({ ...given, tasks, dataDir: folder, ...changes });
}

test(
  'the warm-up teaches the form of programs',
  async () => {
    const { before, after } = await trainerOf(warmup, {}).fit();
    expect(before.reward).toBeLessThan(0.02);
    expect(after.reward).toBeGreaterThan(0.1);
  },
  timeoutMs,
);
