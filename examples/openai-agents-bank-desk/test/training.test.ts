// @module-tag long
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { traceOutlines } from '@agentlightning/example-trace-outline';
import { Trainer } from '@agentlightning/trainer';
import { afterEach, beforeEach, expect, test } from 'vitest';
import config from '../agl.config.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'agl-example-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const taskFile = (name: string): string => path.resolve(import.meta.dirname, `../tasks/${name}.jsonl`);

/** Seconds on a free machine, minutes on a busy one. */
const patienceMs = 600_000;

test(
  'a few steps make the agent better, and its traces show how it went about its tasks',
  async () => {
    const trainer = new Trainer({
      ...config,
      tasks: { train: taskFile('train'), test: taskFile('test') },
      steps: 8,
      tasksPerStep: 16,
      dataDir: folder,
    });
    const { before, after, storeUrl } = await trainer.fit();
    expect(before.reward).toBeLessThan(0.35);
    expect(after.reward).toBeGreaterThan(before.reward + 0.08);

    const traces = await traceOutlines(storeUrl);
    expect(traces).toContain(toldBalance);
    expect(traces).toContain(blockedBySecurity);
  },
  patienceMs,
);

const toldBalance = `rollout rollout
  agent Help desk
    step turn 1
      model-call gpt-4.1-mini
      tool-call read_balance
    step turn 2
      model-call gpt-4.1-mini
  reward reward
`;

const blockedBySecurity = `rollout rollout
  agent Help desk
    step turn 1
      model-call gpt-4.1-mini
      hand-off Security
  agent Security
    step turn 2
      model-call gpt-4.1-mini
      tool-call block_card
  reward reward
`;
