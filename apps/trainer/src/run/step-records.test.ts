import { openStore } from '@agentlightning/store';
import { expect, test } from 'vitest';
import { readStepRecords, StepRecords } from './step-records.ts';

const steps = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => ({ step: from + index, values: { x: from + index } }));

test('keeps the first and the last steps of a run', () => {
  const kept = new StepRecords(steps(1, 1000)).steps.map(({ step }) => step);
  expect([kept.length, kept[0], kept[99], kept[100], kept.at(-1)]).toEqual([200, 1, 100, 901, 1000]);
});

test.each([0, 7, 150, 420])('are the same after a resume at step %i', async (finishedStep) => {
  const store = await openStore(':memory:');
  await store.createRun({ runId: 'run-1', name: 'one', config: {} });
  const points = steps(1, 425).map((point) => ({ ...point, runId: 'run-1', timeMs: 0 }));
  await store.updateRun('run-1', {}, points);
  const read = await readStepRecords(store, 'run-1', { firstStep: 0, finishedStep });
  const all = new StepRecords(points.slice(0, finishedStep));
  expect(read.steps.map(({ step }) => step)).toEqual(all.steps.map(({ step }) => step));
  await store.close();
});
