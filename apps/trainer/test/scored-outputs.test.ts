import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { findScoredOutput } from '@agentlightning/core/spans';
import { openStore } from '@agentlightning/store';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { AglProcess, summaryOf } from './agl-process.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'agl-scored-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('the reward of a configuration scores what agents return in worker processes, in training and evaluations', async () => {
  const config = path.resolve(import.meta.dirname, 'fixtures/scored.config.ts');
  await using agl = new AglProcess(['train', config, '--json', '--run', 'scored', '--data-dir', folder]);
  expect(await agl.exitCode(), agl.stderr).toBeLessThan(2);
  const step = summaryOf(agl.events.find(({ type }) => type === 'stepped') ?? { type: 'none' });
  const metrics = step['metrics'] as Readonly<Record<string, number>>;
  // The judge is missing everywhere, and never 0.
  expect(Object.keys(metrics).filter((name) => /^reward\/(judged|calls|digits)\/mean$/.test(name))).toEqual([
    'reward/digits/mean',
    'reward/calls/mean',
  ]);
  expect(metrics['reward/calls/mean']).toBe(1);
  expect(step['reward']).toBeCloseTo((metrics['reward/digits/mean'] ?? 0) + 0.5);
  const evaluated = summaryOf(agl.events.find(({ type }) => type === 'evaluated') ?? { type: 'none' });
  expect(evaluated['reward']).toBeGreaterThanOrEqual(0.5);
  // One cause is reported once.
  expect(agl.events.filter(({ message }) => String(message).includes('the judge has no key'))).toHaveLength(1);
  const store = await openStore(path.join(folder, 'agl.db'));
  const { items } = await store.queryRollouts({ runId: 'scored', limit: 1 });
  const spans = (await store.querySpans({ rolloutId: items[0]?.rolloutId ?? '' })).items;
  await store.close();
  expect(findScoredOutput(spans)).toMatchObject({
    output: expect.any(String),
    scores: { calls: { score: 1 }, judged: { score: null, reason: expect.stringContaining('no key') } },
  });
}, 120_000);
