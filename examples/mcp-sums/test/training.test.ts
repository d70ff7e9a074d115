// @module-tag long
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Trainer } from '@agentlightning/trainer';
import { afterAll, beforeAll, expect, test } from 'vitest';
import config, { server } from '../agl.config.ts';

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'agl-mcp-sums-'));
});
afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true, force: true });
});

const taskFile = (name: string): string => path.resolve(import.meta.dirname, `../tasks/${name}.jsonl`);

/** A minute on a free machine, more on a busy one. */
const timeoutMs = 900_000;

test.each([0, 1, 2])(
  'reinforcement learning teaches to use the tool of the server: seed %i',
  async (seed) => {
    const trainer = new Trainer({
      ...config,
      tasks: { train: taskFile('train'), test: taskFile('test') },
      run: { ...config.run, dataDir: path.join(folder, String(seed)), seed },
      steps: 15,
    });
    const { before, after, isImproved } = await trainer.fit();
    expect(before.reward).toBeLessThan(0.15);
    expect(after.reward).toBeGreaterThan(0.3);
    expect(after.failed).toBe(0);
    expect(isImproved).toBe(true);
  },
  timeoutMs,
);
