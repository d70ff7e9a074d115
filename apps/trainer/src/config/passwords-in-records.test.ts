import { openStore } from '@agentlightning/store';
import { expect, test } from 'vitest';
import { findOrCreateSearch } from '../prompt-search/find-or-create-search.ts';
import { findOrCreateRun } from '../run/find-or-create-run.ts';
import { resolveConfig } from './resolve-config.ts';
import { isPromptSearch, resolveRun } from './resolve-run.ts';

test('no password of an address gets into the record of a run', async () => {
  const store = await openStore('sqlite::memory:');
  const shared = {
    agent: () => 1,
    store: { url: 'postgres://agl:hunter2@db/agl' },
    gateway: { url: 'http://agl:hunter2@gateway/v1' },
  };
  const tasks = { train: [{ a: 1 }], validation: [{ a: 2 }] };
  const search = resolveRun(
    {
      ...shared,
      tasks,
      algorithm: { type: 'apo' },
      prompts: { one: { template: 'Say it.' } },
      optimizer: { baseUrl: 'http://agl:hunter2@optimizer/v1', model: 'm' },
      runtime: { type: 'endpoint', baseUrl: 'http://agl:hunter2@endpoint/v1', model: 'm' },
    },
    '/',
  );
  if (!isPromptSearch(search)) throw new TypeError('it is a training');
  const training = resolveConfig({ ...shared, tasks: { train: tasks.train, test: tasks.validation } }, '/');
  const choice = { runId: null, resume: null, onStopRequest: () => undefined };
  const runs = [
    await findOrCreateRun(store, {
      ...choice,
      config: training,
      tasks: { train: ['1 task'], validation: null, heldOut: '1 task', guards: 'none' },
      dataUntilMs: 0,
    }),
    await findOrCreateSearch(store, {
      ...choice,
      config: search,
      tasks: { train: [1], validation: [2], test: [] },
      untilMs: 0,
    }),
  ];
  const records = runs.map(({ run }) => JSON.stringify(run.config));
  for (const { lease } of runs) await lease.release();
  await store.close();
  expect(records).toEqual([
    expect.stringContaining('postgres://…@db/agl'),
    expect.stringContaining('http://…@endpoint/v1'),
  ]);
  expect(records.join('')).not.toContain('hunter2');
});
