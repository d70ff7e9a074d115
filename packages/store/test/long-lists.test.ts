import type { RolloutStatus } from '@agentlightning/core';
import type { RolloutQuery } from '@agentlightning/core/store';
import { expect, test } from 'vitest';
import { openStore } from '../src/index.ts';

const statuses: readonly RolloutStatus[] = ['queuing', 'succeeded', 'failed', 'cancelled'];
const sortFields = ['startTimeMs', 'endTimeMs', 'status', 'rolloutId', 'mode', undefined] as const;

test('every page of a list of several statuses is a part of the complete list, in every order', async () => {
  await using open = await mixedStore();
  for (const sortBy of sortFields) {
    for (const sortOrder of ['asc', 'desc'] as const) {
      const query: RolloutQuery = {
        statusIn: ['failed', 'queuing', 'cancelled'],
        sortOrder,
        ...(sortBy === undefined ? {} : { sortBy }),
      };
      const whole = (await open.store.queryRollouts(query)).items;
      expect(new Set(whole.map(({ status }) => status))).toEqual(new Set(query.statusIn));
      const page = await open.store.queryRollouts({ ...query, limit: 4, offset: 3 });
      expect(page.items).toEqual(whole.slice(3, 7));
      expect(page.total).toBe(whole.length);
    }
  }
});

test.each<RolloutQuery>([
  {},
  { statusIn: ['failed'] },
  { statusIn: ['failed', 'failed'] },
  { statusIn: [] },
  { modeIn: ['train'] },
  { modeIn: ['train', 'val'], statusIn: ['queuing', 'succeeded'] },
  { runId: 'run-1' },
  { runId: 'run-1', modeIn: ['val'], statusIn: ['cancelled'] },
  { runId: 'run-1', statusIn: ['failed'], filterLogic: 'or' },
  { statusIn: ['failed'], rolloutIdContains: '3', filterLogic: 'or' },
])('the total of %j is the number of its items, after every kind of change', async (query) => {
  await using open = await mixedStore();
  expect(await total()).toBe((await open.store.queryRollouts(query)).items.length);
  const { items } = await open.store.queryRollouts({ statusIn: ['queuing'], limit: 2 });
  await open.store.updateRollout(items[0]?.rolloutId ?? '', { mode: 'train', status: 'cancelled' });
  await open.store.updateRollout(items[1]?.rolloutId ?? '', { mode: 'val' });
  const finished = await open.store.queryRollouts({ statusIn: ['failed', 'succeeded'], limit: 3, offset: 2 });
  await open.store.deleteRollouts(finished.items.map(({ rolloutId }) => rolloutId));
  expect(await total()).toBe((await open.store.queryRollouts(query)).items.length);

  async function total(): Promise<number> {
    return (await open.store.queryRollouts({ ...query, limit: 1 })).total;
  }
});

/** A store with rollouts of every status, of two modes and of none, in a run and in none. */
async function mixedStore() {
  const store = await openStore(':memory:');
  await store.createRun({ runId: 'run-1', name: 'first', config: {} });
  await store.enqueueRollouts(
    Array.from({ length: 24 }, (_, index) => ({
      rolloutId: `r-${(index * 7) % 24}`,
      input: index,
      ...(index % 3 === 0 ? {} : { mode: index % 3 === 1 ? ('train' as const) : ('val' as const) }),
      ...(index % 2 === 0 ? { runId: 'run-1' } : {}),
    })),
  );
  for (const [index, { rolloutId }] of (await store.queryRollouts()).items.entries()) {
    const status = statuses[index % statuses.length] ?? 'queuing';
    if (status !== 'queuing') await store.updateRollout(rolloutId, { status });
  }
  return { store, [Symbol.asyncDispose]: () => store.close() };
}
