// @module-tag long
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Trainer } from '@agentlightning/trainer';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { closeCalculator } from '../agent.ts';
import config from '../agl.config.ts';

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
    const imitated: number[] = [];
    const [imitation, reinforcement] = config.stages ?? [];
    if (imitation === undefined || reinforcement === undefined) throw new TypeError('the example has two stages');
    const { before, after, isImproved, training } = await new Trainer({
      ...config,
      evaluation: { tasks: 96, every: 70 },
      run: { dataDir: folder },
      tasks: { ...config.tasks, train: taskFile('train'), test: taskFile('test') },
      stages: [
        { ...imitation, tasks: { ...imitation.tasks, train: taskFile('demonstrations') }, steps: 70 },
        { ...reinforcement, steps: 15 },
      ],
    }).fit({
      onEvent: (event) => {
        if (event.type === 'evaluated' && event.step === 70) imitated.push(event.summary.reward);
      },
    });
    expect(before.reward).toBeLessThan(0.05);
    expect(imitated[0]).toBeGreaterThan(before.reward);
    expect(training?.stages?.map(({ startStep }) => startStep)).toEqual([null, 70]);
    expect(after.reward).toBeGreaterThan((imitated[0] ?? 1) + 0.1);
    expect(isImproved).toBe(true);
  },
  timeoutMs,
);
