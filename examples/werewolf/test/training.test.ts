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
  folder = mkdtempSync(path.join(tmpdir(), 'agl-werewolf-training-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const taskFile = (name: string): string => path.resolve(import.meta.dirname, `../tasks/${name}.jsonl`);

/** Three minutes on a free machine, more on a busy one. */
const timeoutMs = 1_800_000;

test(
  'a warm-up teaches turns of the game, and reinforcement learning legal ones',
  async () => {
    await new Trainer({
      ...warmUp,
      tasks: { train: taskFile('demonstrations'), test: taskFile('test') },
      dataDir: folder,
      steps: 60,
      evaluation: { tasks: 8 },
    }).fit({ runId: 'warm-up' });
    const trainer = new Trainer({
      ...config,
      tasks: { train: taskFile('train'), test: taskFile('test') },
      dataDir: folder,
      from: 'warm-up@final',
      steps: 5,
      evaluation: { tasks: 24 },
    });
    await trainer.fit({ runId: 'games' });
    const { of: trained, against: imitating } = await trainer.test({ of: 'games@final', against: 'warm-up@final' });
    const legal = [imitating, trained].map((evaluation) => evaluation?.parts['legal']?.reward ?? Number.NaN);
    expect(legal[1]).toBeGreaterThan((legal[0] ?? 0) + 0.05);
  },
  timeoutMs,
);
