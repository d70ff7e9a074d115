import { copyFileSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { JsonObject } from '@agentlightning/core';
import { openStore } from '@agentlightning/store';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { Trainer, TrainingEvent } from '../src/index.ts';
import { type SmallTask, smallTrainer, trainSmall } from './small-trainer.ts';

/** Each run starts a runtime, on a machine that may be busy. */
vi.setConfig({ testTimeout: 240_000 });

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'agl-names-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Each run has a runtime, with checkpoints in the folder. */
const runtime = { type: 'embedded', model: 'tiny-random' } as const;

const checkpoints = (...parts: string[]): string => path.join(folder, 'checkpoints', ...parts);

/** A trainer of runs with a policy `b`. */
function trainerOfB(steps: number): Trainer<SmallTask> {
  return smallTrainer(folder, { runtime, policies: { b: {} }, steps, checkpoints: { every: 1 } });
}

/** A run of policy `b` that was stopped in its second step, as it was left when one hyphen stood before the policy. */
async function leaveOldRun(runId: string): Promise<void> {
  const stop = new AbortController();
  const { error } = await trainSmall(trainerOfB(2), {
    runId,
    signal: stop.signal,
    onEvent: (event) => {
      if (event.type === 'rollout-finished' && event.phase === 'step' && event.step === 2) stop.abort();
    },
  });
  expect(error).toMatchObject({ code: 'CANCELLED' });
  renameSync(checkpoints(`${runId}--b`), checkpoints(`${runId}-b`));
  const store = await openStore(path.join(folder, 'agl.db'));
  const { state } = await store.getRun(runId);
  const { modelNaming, ...before } = state;
  expect(modelNaming).toBe('two-hyphens');
  const old = JSON.parse(JSON.stringify(before).replaceAll(`"${runId}--b/`, `"${runId}-b/`)) as JsonObject;
  expect(old['checkpoint']).toMatchObject({ step: 1, uris: { b: `${runId}-b/step-000001` } });
  await store.updateRun(runId, { state: old });
  await store.close();
}

function urisOf(events: readonly TrainingEvent[]): readonly string[] {
  return events.flatMap((event) => (event.type === 'checkpointed' ? [event.uri] : []));
}

test('run "a" with policy "b" and run "a-b" keep what they save apart', async () => {
  const one = await trainSmall(trainerOfB(1), { runId: 'a' });
  const saved = readFileSync(checkpoints('a--b', 'step-000001.safetensors'));
  const other = await trainSmall(smallTrainer(folder, { runtime, run: { seed: 7 } }), { runId: 'a-b' });
  expect([one.error, other.error]).toEqual([null, null]);
  expect([urisOf(one.events).at(-1), urisOf(other.events).at(-1)]).toEqual(['a--b/step-000001', 'a-b/step-000001']);
  expect(readFileSync(checkpoints('a--b', 'step-000001.safetensors')).equals(saved)).toBe(true);
  expect(readFileSync(checkpoints('a-b', 'step-000001.safetensors')).equals(saved)).toBe(false);
});

test('a run of an earlier version resumes from its checkpoints, and no other run writes there', {
  tags: ['long'],
}, async () => {
  await leaveOldRun('old');
  const { events, error } = await trainSmall(trainerOfB(2), { resume: 'old' });
  expect(error).toBeNull();
  expect(events.flatMap((event) => (event.type === 'stepped' ? [event.summary.step] : []))).toEqual([2]);
  expect(urisOf(events)).toEqual(['old-b/step-000002']);
  expect(readdirSync(checkpoints())).not.toContain('old--b');

  const saved = readdirSync(checkpoints('old-b'));
  const other = await trainSmall(smallTrainer(folder, { runtime }), { runId: 'old-b' });
  expect(other.error).toMatchObject({
    code: 'CONFLICT',
    message: expect.stringMatching(/the checkpoint old-b\/step-\d+ belongs to run "old", not to "old-b"/),
  });
  expect(readdirSync(checkpoints('old-b'))).toEqual(saved);
});

test('a run of an earlier version does not resume from a checkpoint that another run has overwritten', {
  tags: ['long'],
}, async () => {
  await trainSmall(smallTrainer(folder, { runtime }), { runId: 'thief' });
  await leaveOldRun('lost');
  copyFileSync(checkpoints('thief', 'step-000001.safetensors'), checkpoints('lost-b', 'step-000001.safetensors'));
  const { error } = await trainSmall(trainerOfB(2), { resume: 'lost' });
  expect(error).toMatchObject({
    code: 'CONFLICT',
    message: expect.stringContaining('the checkpoint lost-b/step-000001 belongs to run "thief", not to "lost"'),
  });
});

test('an id with which a run could be taken for a policy of another is refused', async () => {
  for (const runId of ['a--b', 'a-']) {
    const { error } = await trainSmall(smallTrainer(folder, { runtime }), { runId });
    expect(error).toMatchObject({ code: 'CONFIG', message: expect.stringContaining(`invalid run id: "${runId}"`) });
  }
});
