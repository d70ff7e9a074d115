// @module-tag long
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Trainer } from '@agentlightning/trainer';
import { afterAll, beforeAll, expect, test } from 'vitest';
import config from '../agl.config.ts';

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'agl-rag-training-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const taskFile = (name: string): string => path.resolve(import.meta.dirname, `../tasks/${name}.jsonl`);

/** A minute on a free machine, more on a busy one. */
const timeoutMs = 900_000;

test(
  'reinforcement learning teaches to search for the title and to cite the film',
  async () => {
    const reinforcement = config.stages?.[1];
    if (reinforcement === undefined) throw new TypeError('the example has two stages');
    const trainer = new Trainer({
      ...config,
      tasks: { ...config.tasks, train: taskFile('train'), test: taskFile('test') },
      run: { ...config.run, dataDir: folder },
      stages: [{ ...reinforcement, steps: 10 }],
    });
    const { before, after, isImproved } = await trainer.fit();
    expect(before.reward).toBeLessThan(0.25);
    expect(after.reward).toBeGreaterThan(0.28);
    expect(isImproved).toBe(true);
  },
  timeoutMs,
);
