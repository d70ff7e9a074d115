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

/** About four minutes on a free machine: one process of Claude Code for each of the 256 rollouts. */
const timeoutMs = 1_200_000;

test(
  'a few steps raise the held-out reward, and the traces have the tool calls',
  async () => {
    const trainer = new Trainer({
      ...config,
      tasks: { train: taskFile('train'), test: taskFile('test') },
      dataDir: folder,
    });
    const { before, after, storeUrl } = await trainer.fit();
    expect(before.reward).toBeLessThan(0.5);
    expect(after.reward).toBeGreaterThan(before.reward + 0.08);

    const traces = await traceOutlines(storeUrl);
    expect(traces).toContain(openedDoor);
  },
  timeoutMs,
);

const openedDoor = `rollout rollout
  agent porter
    model-call claude-haiku-4-5
    tool-call mcp__house__open_door
  reward reward
`;
