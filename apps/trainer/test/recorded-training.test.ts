import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { AgentLightningError } from '@agentlightning/core';
import { trainingFromSpan } from '@agentlightning/core/internal';
import { spanNames } from '@agentlightning/core/spans';
import { aCollectedRollout } from '@agentlightning/core/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { recordTraining } from '../src/loop/record-training.ts';
import { smallTrainer, trainSmall } from './small-trainer.ts';
import { withStore } from './with-store.ts';

/** Limit for a test that starts processes, on a machine that may be busy. */
const timeoutMs = 120_000;

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'agl-recorded-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('every attempt has the advantages that a step trained it with', { timeout: timeoutMs }, async () => {
  await trainSmall(smallTrainer(folder, { steps: 2 }));
  await withStore(folder, async (store) => {
    const { items } = await store.searchSpans({ name: spanNames.training, limit: 1000 });
    const trainings = items.flatMap((span) => trainingFromSpan(span) ?? []);
    expect(trainings.map(({ step, policy }) => [step, policy])).toEqual([
      ...Array.from({ length: 8 }, () => [1, null]),
      ...Array.from({ length: 8 }, () => [2, null]),
    ]);
    for (const { rolloutId, calls } of trainings) {
      const spans = await store.querySpans({ rolloutId, name: spanNames.modelCall });
      expect(calls.map(({ sequenceId }) => sequenceId)).toEqual(spans.items.map(({ sequenceId }) => sequenceId));
    }
    const total = trainings.flatMap(({ calls }) => calls.map(({ advantage }) => advantage ?? Number.NaN));
    // The advantages of a group sum to 0.
    expect(total.reduce((sum, value) => sum + value, 0)).toBeCloseTo(0, 3);
  });
});

test('an attempt without quota for another span is a warning', async () => {
  const events: unknown[] = [];
  const collected = [aCollectedRollout()];
  const calls = [{ sequenceId: 1, advantage: 1, tokenAdvantages: null, trainerLogprobs: null, exclusion: null }];
  const attempts = [{ rolloutId: 'ro-1', attemptId: 'at-1', calls }];
  const outcomes = [{ policy: { name: null }, plan: { attempts } }];
  const appendSpans = async (): Promise<never> => {
    throw new AgentLightningError({ code: 'QUOTA_EXCEEDED', message: 'too many spans' });
  };
  const session = { store: { appendSpans }, emit: (event: unknown) => void events.push(event) };
  await recordTraining(session, { collected, outcomes, step: 3 });
  expect(events).toMatchObject([{ type: 'warning', message: expect.stringContaining('step 3') }]);
});
