import { openStore, type SqlStore } from '@agentlightning/store';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { dropUnfinished } from './collect-rollouts.ts';

let store: SqlStore;
beforeEach(async () => {
  store = await openStore(':memory:');
  await store.createRun({ runId: 'run-1', name: 'one', config: {} });
});
afterEach(() => store.close());

/** The store, in which something happens right after its rollouts were listed. */
function whileListed(meanwhile: () => Promise<unknown>): SqlStore {
  return new Proxy(store, {
    get: (target, name) => {
      if (name === 'queryRollouts') {
        return async (query: Parameters<SqlStore['queryRollouts']>[0]) => {
          const page = await target.queryRollouts(query);
          await meanwhile();
          return page;
        };
      }
      const member: unknown = Reflect.get(target, name);
      return typeof member === 'function' ? member.bind(target) : member;
    },
  });
}

test('what a runner elsewhere ends while a trainer takes over stays, and the rest is dropped', async () => {
  const requests = ['ro-1', 'ro-2', 'ro-3', 'ro-4'].map((rolloutId) => ({ rolloutId, runId: 'run-1', input: null }));
  await store.enqueueRollouts(requests);
  await store.claimRollouts({ workerId: 'elsewhere', limit: 3 });
  const ending = whileListed(() => store.updateAttempt('ro-1', 'latest', { status: 'succeeded' }));
  expect(await dropUnfinished(ending, 'run-1')).toBe(3);
  const { items } = await store.queryRollouts({ runId: 'run-1' });
  expect(items.map(({ status }) => status)).toEqual(['succeeded', 'cancelled', 'cancelled', 'cancelled']);
});
