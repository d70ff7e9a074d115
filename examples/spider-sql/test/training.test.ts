// @module-tag long
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Trainer } from '@agentlightning/trainer';
import { afterAll, beforeAll, expect, test } from 'vitest';
import config from '../agl.config.ts';

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
    const [imitation, reinforcement] = config.stages ?? [];
    if (imitation === undefined || reinforcement === undefined) throw new TypeError('the example has two stages');
    const imitated: number[] = [];
    const { after } = await new Trainer({
      ...config,
      tasks: { ...config.tasks, train: taskFile('train'), test: taskFile('test') },
      run: { ...config.run, dataDir: folder },
      evaluation: { ...config.evaluation, every: 100 },
      stages: [
        { ...imitation, tasks: { ...imitation.tasks, train: taskFile('demonstrations') }, steps: 100 },
        { ...reinforcement, steps: 10 },
      ],
    }).fit({
      onEvent: (event) => {
        if (event.type === 'evaluated' && event.step === 100) imitated.push(event.summary.reward);
      },
    });
    expect(after.reward).toBeGreaterThan((imitated[0] ?? 1) + 0.1);
  },
  timeoutMs,
);
