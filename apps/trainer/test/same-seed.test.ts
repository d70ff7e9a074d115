import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { smallTrainer, trainSmall } from './small-trainer.ts';

vi.setConfig({ testTimeout: 120_000 });

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'agl-seed-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Metrics and weights of a run of two steps, in a separate store and with a separate id. */
async function learned(name: string, seed: number): Promise<unknown> {
  const algorithm = { type: 'grpo', groupSize: 4, learningRate: 1e-2 } as const;
  const trainer = smallTrainer(path.join(folder, name), { algorithm, steps: 2, run: { seed } });
  const { events } = await trainSmall(trainer, { runId: name });
  return events.flatMap((event): unknown[] => {
    if (event.type === 'evaluated') return [event.summary.reward];
    if (event.type !== 'stepped') return [];
    const { metrics, reward, entropy } = event.summary;
    // How long it took is the only thing that is left to chance.
    return [{ reward, entropy, metrics: Object.entries(metrics).filter(([key]) => !key.startsWith('time/')) }];
  });
}

test('the same seed and the same data make the same batches, whatever the run is called; another seed makes others', async () => {
  const first = await learned('first', 3);
  expect(first).toHaveLength(4);
  expect(await learned('second', 3)).toEqual(first);
  expect(await learned('third', 4)).not.toEqual(first);
});
